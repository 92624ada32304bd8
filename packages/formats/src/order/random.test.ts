import { describe, expect, it } from 'vitest';
import { randomBelow, randomWords, sampleWords, splitMix64, xoshiro128 } from './random.js';

describe('xoshiro128', () => {
  it('draws the numbers of the reference implementation', () => {
    const draw = xoshiro128([1, 2, 3, 4]);
    const words = Array.from({ length: 10 }, draw);
    expect(words).toEqual([
      11520, 0, 5927040, 70819200, 2031721883, 1637235492, 1287239034, 3734860849, 3729100597, 4258142804,
    ]);
  });
});

describe('splitMix64', () => {
  it('draws the numbers of the reference implementation', () => {
    const draw = splitMix64(1234567n);
    expect([draw(), draw(), draw()]).toEqual([
      6457827717110365317n,
      3203168211198807973n,
      9817491932198370423n,
    ]);
  });
});

describe('randomWords', () => {
  it('differs by seed and by epoch, which cannot replace each other', () => {
    const first = (seed: number, epoch: number) => randomWords(seed, epoch)();
    const firsts = [first(0, 0), first(0, 1), first(1, 0), first(1, 1), first(-1, 0), first(2 ** 40, 0)];
    expect(new Set(firsts).size).toBe(firsts.length);
    expect(first(1, 2)).toBe(first(1, 2));
  });
});

describe('sampleWords', () => {
  it('differs by seed, epoch and sample, and from the stream of the epoch', () => {
    const streams = [0, 1].flatMap((seed) =>
      [0, 1].flatMap((epoch) => [
        randomWords(seed, epoch),
        ...[0, 1, 2].map((i) => sampleWords(seed, epoch, i)),
      ]),
    );
    const words = streams.flatMap((draw) => [draw(), draw(), draw()]);
    expect(new Set(words).size).toBe(3 * 16);
    expect(sampleWords(1, 2, 3)()).toBe(sampleWords(1, 2, 3)());
  });
});

describe('randomBelow', () => {
  it('rejects words that would favour small results', () => {
    const words = [2 ** 32 - 1, 5];
    expect(randomBelow(() => words.shift()!, 3)).toBe(2);
    expect(words).toEqual([]);
  });
});

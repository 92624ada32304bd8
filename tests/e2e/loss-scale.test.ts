import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from './on-ranks.js';

interface Run {
  readonly weights: number[][];
  readonly skipped: boolean[];
}
interface Results extends Record<string, Run> {
  readonly local: Run & { readonly before: number[][]; readonly alone: boolean[]; readonly scales: number[] };
}

const RATE = 0.125;
const SIZES = [4 * 8, 8 * 8];

/** The mean of the gradients of ranks/loss-scale.ts over both ranks. */
const gradient = (seed: number, size: number) =>
  Array.from({ length: size }, (_, i) => (Math.sin(i + 5 * seed) + Math.sin(i + 5 * seed + 40)) / 2);

function stepped(before: readonly number[][], seeds: readonly number[]): number[][] {
  return before.map((values, k) =>
    seeds.reduce((from, seed) => {
      const grads = gradient(seed, SIZES[k]!);
      return from.map((value, i) => value - RATE * grads[i]!);
    }, values),
  );
}

describe('fp16 on two ranks, one of which has an overflow', () => {
  let ranks: Results[];
  const close = (a: readonly number[][], b: readonly number[][]) =>
    a.forEach((values, k) => expectClose(values, b[k]!, { rtol: 1e-5, atol: 1e-5 }));

  beforeAll(async () => {
    const module = new URL('./ranks/loss-scale.ts', import.meta.url);
    ranks = await onRanks<Results>({ module, ranks: 2, env: { OMP_NUM_THREADS: '1' } });
  });

  it('both skip the step if gradients are reduced when they are applied', () => {
    const ones = SIZES.map((size) => Array<number>(size).fill(1));
    for (const { apply } of ranks) {
      expect(apply!.skipped).toEqual([false, true, false, false]);
      close(apply!.weights, stepped(ones, [0, 2, 3]));
      expect(apply!.weights).toEqual(ranks[0]!['apply']!.weights);
    }
  });

  it('take the same steps after they trained alone with different loss scales', () => {
    expect(ranks.map(({ local }) => local.alone)).toEqual([
      [true, false],
      [false, false],
    ]);
    for (const { local } of ranks) {
      // Each rank's overflow has halved the scale. Ranks continue with the smaller one.
      expect(local.scales).toEqual([512, 256]);
      expect(local.skipped).toEqual([false, true, false]);
      close(local.weights, stepped(local.before, [2, 4]));
      expect(local.weights).toEqual(ranks[0]!.local.weights);
    }
  });

  it.each(['powerSgd', 'powerSgd at once', 'topK', 'oneBit'])(
    '%s continues as if the step had not been taken',
    (name) => {
      for (const results of ranks) {
        const [plain, overflowing] = [results[name]!, results[`${name} overflowing`]!];
        expect(plain.skipped).not.toContain(true);
        expect(overflowing.skipped.filter(Boolean)).toHaveLength(3);
        expect(overflowing.weights).toEqual(plain.weights);
        expect(plain.weights).toEqual(ranks[0]![name]!.weights);
      }
    },
  );
});

import * as tf from '@tensorflow/tfjs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shareOf, type Splittable } from './split-between.js';

const ranksOf = <T extends Splittable>(inputs: T, size: number, applyPadding = false) =>
  Array.from({ length: size }, (_, rank) => shareOf(inputs, { rank, size, applyPadding }));

describe('shares of values that are split over processes', () => {
  it('together contain all items in order, and their lengths differ by at most one', () => {
    fc.assert(
      fc.property(fc.array(fc.nat()), fc.integer({ min: 1, max: 7 }), (items, size) => {
        const shares = ranksOf(items, size).map(({ share }) => share);
        expect(shares.flat()).toEqual(items);
        const counts = shares.map((share) => share.length);
        expect(counts[0]! - counts.at(-1)!).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('are filled with the last item', () => {
    const shares = ranksOf(['a', 'b', 'c', 'd'], 3, true).map(({ share }) => share);
    expect(shares).toEqual([
      ['a', 'b'],
      ['c', 'd'],
      ['d', 'd'],
    ]);
    expect(ranksOf([], 2, true).map(({ share }) => share)).toEqual([[], []]);
  });

  it('of records contain a part of each value', () => {
    const x = tf.tensor2d([1, 2, 3, 4, 5, 6], [3, 2]);
    const b = tf.tensor1d([true, false, true], 'bool');
    const [first, second] = ranksOf({ x, inner: { b, names: ['p', 'q', 'r'] } }, 2, true);
    expect(first!.share.x.arraySync()).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(second!.share.x.arraySync()).toEqual([
      [5, 6],
      [5, 6],
    ]);
    expect([...second!.share.inner.b.dataSync()]).toEqual([1, 1]);
    expect(second!.share.inner.names).toEqual(['r', 'r']);
    expect(second!.made).toHaveLength(2);
    tf.dispose([x, b, first!.made, second!.made]);
  });

  it('may be empty if a tensor has fewer rows than there are processes', () => {
    const shares = ranksOf(tf.ones([1, 2]), 2);
    expect(shares.map(({ share }) => share.shape)).toEqual([
      [1, 2],
      [0, 2],
    ]);
  });

  it.each<[string, unknown, string]>([
    ['numbers', 3, 'number 3'],
    ['scalars', tf.scalar(1), 'without dimensions'],
    ['records of nothing', {}, 'cannot be split'],
    ['values of different lengths', { a: [1], b: [1, 2] }, 'inputs.b: 2'],
    ['what lies in records', { a: { b: null } }, 'inputs.a.b is null'],
  ])('do not exist for %s', (_, inputs, share) => {
    const call = () => shareOf(inputs as Splittable, { rank: 0, size: 2 });
    expect(call).toThrowError(
      expect.objectContaining({
        code: 'ACC_INVALID_ARGUMENT',
        message: expect.stringContaining(share) as unknown,
      }),
    );
  });
});

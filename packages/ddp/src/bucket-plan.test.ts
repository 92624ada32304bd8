import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planBuckets } from './bucket-plan.js';

describe('planBuckets', () => {
  it('goes from the last variable to the first and closes a full bucket', () => {
    expect(planBuckets([10, 10, 10, 10, 10], 20, 10)).toEqual({
      buckets: [[4], [3, 2], [1, 0]],
      bucketOf: [2, 2, 1, 1, 0],
    });
  });

  it('puts a variable larger than a bucket together with those that waited before it', () => {
    expect(planBuckets([100, 5, 5], 20, 1).buckets).toEqual([[2], [1, 0]]);
  });

  it('puts every variable into exactly one bucket', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1000)), fc.integer({ min: 1, max: 2000 }), (bytes, limit) => {
        const { buckets, bucketOf } = planBuckets(bytes, limit, 100);
        expect(buckets.flat()).toEqual(bytes.map((_, i) => bytes.length - 1 - i));
        bytes.forEach((_, i) => expect(buckets[bucketOf[i]!]).toContain(i));
      }),
    );
  });
});

/** The assignment of gradients to buckets. */
export interface BucketPlan {
  /**
   * The number of the plan. Plans are numbered in the order of their creation, which is the same on
   * every rank.
   */
  readonly id: number;
  /**
   * The positions of variables in each bucket, in the order in which backward is expected to finish
   * them.
   */
  readonly buckets: readonly (readonly number[])[];
  /** The bucket of each variable. */
  readonly bucketOf: readonly number[];
}

/**
 * Packs gradients into buckets from the last variable to the first, because backward finishes them
 * in about this order. A bucket is closed when it holds `bucketBytes` or more. The first bucket
 * holds at most `firstBucketBytes`, so that communication starts early (PyTorch DDP, Li et al.
 * 2020, section 3.2.3).
 *
 * @param bytes The size of each variable's gradient, in bytes.
 */
export function planBuckets(
  bytes: readonly number[],
  bucketBytes: number,
  firstBucketBytes: number,
): Omit<BucketPlan, 'id'> {
  const buckets: number[][] = [];
  const bucketOf = new Array<number>(bytes.length);
  let open: number[] = [];
  let openBytes = 0;
  for (let i = bytes.length - 1; i >= 0; i--) {
    open.push(i);
    openBytes += bytes[i]!;
    bucketOf[i] = buckets.length;
    const limit = buckets.length === 0 ? Math.min(firstBucketBytes, bucketBytes) : bucketBytes;
    if (openBytes >= limit || i === 0) {
      buckets.push(open);
      open = [];
      openBytes = 0;
    }
  }
  return { buckets, bucketOf };
}

/** Which gradients travel together. */
export interface BucketPlan {
  /** Which of the plans that this program makes, one after the other and on every rank alike. */
  readonly id: number;
  /** Positions of variables, bucket by bucket, in the order in which backward is expected to finish them. */
  readonly buckets: readonly (readonly number[])[];
  /** For each variable the bucket it is in. */
  readonly bucketOf: readonly number[];
}

/**
 * Packs gradients into buckets from the last variable to the first, since backward finishes them in about that order. A
 * bucket is closed when it holds `bucketBytes` or more; the first holds at most `firstBucketBytes`, so that
 * communication starts early (PyTorch DDP, Li et al. 2020, section 3.2.3).
 *
 * @param bytes Size of each variable's gradient.
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

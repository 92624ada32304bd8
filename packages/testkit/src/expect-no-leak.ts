import { AccError, checkKeys } from '@acc/contract';

/** The counted amounts. Both are current totals, not the sum of allocations. */
export interface MemoryCounts {
  readonly tensors: number;
  /** The native memory of live tensors in bytes, without the cache of an allocator. */
  readonly nativeBytes?: number;
}

export interface LeakOptions {
  /** Reads the counts, for example `() => ({ tensors: tf.memory().numTensors })`. */
  readonly memory: () => MemoryCounts;
  /**
   * The number of calls before the first reading, for tensors that a program creates once
   * (variables, caches). Default 2.
   */
  readonly warmup?: number;
  /** The number of calls between the two readings. Default 10. */
  readonly repeats?: number;
}

/**
 * Calls `fn` several times, awaits each call, and fails if a count has increased.
 *
 * @throws AccError `ACC_EXPECT_NO_LEAK` with `details` `{before, after, repeats}`.
 */
export async function expectNoLeak(fn: () => unknown, options: LeakOptions): Promise<void> {
  checkKeys('expectNoLeak', options, ['memory', 'warmup', 'repeats']);
  const { memory, warmup = 2, repeats = 10 } = options;
  for (let i = 0; i < warmup; i++) await fn();
  const before = memory();
  for (let i = 0; i < repeats; i++) await fn();
  const after = memory();

  const tensors = after.tensors - before.tensors;
  const nativeBytes = (after.nativeBytes ?? 0) - (before.nativeBytes ?? 0);
  if (tensors <= 0 && nativeBytes <= 0) return;
  throw new AccError(
    'ACC_EXPECT_NO_LEAK',
    `${repeats} calls left ${tensors} tensors and ${nativeBytes} native bytes behind ` +
      `(${tensors / repeats} tensors, ${Math.round(nativeBytes / repeats)} bytes a call).`,
    {
      help: 'Dispose the tensors that the function creates, or wrap it in tf.tidy.',
      details: { before, after, repeats },
    },
  );
}

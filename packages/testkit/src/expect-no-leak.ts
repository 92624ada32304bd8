import { AccError, checkKeys } from '@acc/contract';

/** What is counted. Both are totals that are still held, not what was allocated so far. */
export interface MemoryCounts {
  readonly tensors: number;
  /** Bytes that live tensors hold natively, without what an allocator caches. */
  readonly nativeBytes?: number;
}

export interface LeakOptions {
  /** Reads the counts, for instance `() => ({ tensors: tf.memory().numTensors })`. */
  readonly memory: () => MemoryCounts;
  /** Calls before the first reading, for what a program makes only once (variables, caches). Default 2. */
  readonly warmup?: number;
  /** Calls between the two readings. Default 10. */
  readonly repeats?: number;
}

/**
 * Calls `fn` again and again, waiting for it where it is async, and fails when a count is higher afterwards.
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
    { help: 'Dispose what the function makes, or wrap it in tf.tidy.', details: { before, after, repeats } },
  );
}

import { findExecutableBatchSize as find, type FindBatchSizeOptions } from '@acc/schedule';
import { whatRuns } from './running.js';

/**
 * Calls `fn` with `startingBatchSize`, and with `reduce` of the last size, by default half of it,
 * after each out-of-memory error. Returns the first result. Everything that a failed attempt made is disposed, including
 * variables and kept tensors, and an Accelerator that it created is freed. `fn` must therefore
 * create model and optimizer itself. Each rank finds its own size: with several ranks, search
 * before they train together.
 *
 * @param fn May be asynchronous.
 * @throws AccError `ACC_NO_BATCH_SIZE` if no size fits; `ACC_UNKNOWN_OPTION`,
 * `ACC_INVALID_OPTION`; the errors of `fn`.
 */
export function findExecutableBatchSize<T>(
  fn: (batchSize: number) => T,
  options: Pick<FindBatchSizeOptions, 'startingBatchSize' | 'reduce'>,
): Promise<Awaited<T>> {
  const before = whatRuns();
  const onOutOfMemory = () => {
    const now = whatRuns();
    if (now === before) now?.trainingStep.dispose();
    else now?.freeMemory();
  };
  return find(fn, { ...options, onOutOfMemory });
}

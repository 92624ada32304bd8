import { findExecutableBatchSize as find } from '@acc/schedule';
import { whatRuns } from './running.js';

/**
 * Calls `fn` with `startingBatchSize`, then with half of it as long as memory runs out, and gives the first result. Whatever a
 * failed attempt made is disposed, variables and kept tensors too, and an Accelerator that it created freed: `fn` makes model
 * and optimizer itself. Each rank finds its own size: on several, search before they train together.
 *
 * @param fn May be asynchronous.
 * @throws AccError `ACC_NO_BATCH_SIZE` when not even 1 fits; `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`; what `fn` throws.
 */
export function findExecutableBatchSize<T>(
  fn: (batchSize: number) => T,
  options: { readonly startingBatchSize: number },
): Promise<Awaited<T>> {
  const before = whatRuns();
  const onOutOfMemory = () => {
    const now = whatRuns();
    if (now === before) now?.pipeline.dispose();
    else now?.freeMemory();
  };
  return find(fn, { ...options, onOutOfMemory });
}

import { AccError, checkKeys } from '@acc/contract';
import type { IndexedDataset } from '@acc/formats';
import { openDataset } from './workers/messages.js';

export interface ModuleDatasetOptions {
  /** The name of an export: a dataset, or a function that returns one. Default `default`. */
  readonly export?: string;
  /** The arguments of the function: values that can be copied to another thread. */
  readonly args?: readonly unknown[];
}

/**
 * A dataset that worker threads can open, too (`numWorkers`). Each thread imports the module and
 * makes a dataset of its own. Samples are plain values, such as typed arrays, {@link shaped} arrays
 * and records of them. Tensors belong to one thread and cannot be sent.
 *
 * @param module The address of an ES module: `new URL('./dataset.js', import.meta.url)`.
 * @throws AccError `ACC_UNKNOWN_OPTION`; `ACC_DATA_DATASET` if the module cannot be imported or gives no dataset.
 */
export async function moduleDataset<Sample = unknown>(
  module: URL | string,
  options: ModuleDatasetOptions = {},
): Promise<IndexedDataset<Sample>> {
  checkKeys('moduleDataset', options, ['export', 'args']);
  const inWorker = { module: String(module), ...options };
  let dataset: IndexedDataset<Sample>;
  try {
    dataset = (await openDataset(inWorker)) as IndexedDataset<Sample>;
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new AccError('ACC_DATA_DATASET', `moduleDataset: ${message}.`, {
      help:
        code === 'ERR_MODULE_NOT_FOUND'
          ? "Check the address, new URL('./dataset.js', import.meta.url), and the module's imports."
          : 'Export a dataset {length, get(i)}, or a function that returns one.',
      cause,
    });
  }
  return {
    get length() {
      return dataset.length;
    },
    get: (i, draw) => dataset.get(i, draw),
    inWorker,
  };
}

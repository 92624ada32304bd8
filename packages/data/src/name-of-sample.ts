import type { IndexedDataset } from '@acc/formats';

/** The name that a dataset gives to a sample, for messages. */
export function nameOfSample(dataset: IndexedDataset<unknown>, index: number): string | undefined {
  try {
    return dataset.nameOf?.(index);
  } catch {
    return undefined;
  }
}

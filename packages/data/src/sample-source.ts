import { AccError } from '@acc/contract';
import { batchSamples, type Collate } from './batch-samples.js';
import type { Columns } from './columns.js';
import { TensorMark } from './structure.js';

/** Data whose samples have numbers, from 0 to length - 1. */
export interface IndexedSource {
  readonly kind: 'indexed';
  readonly length: number;
  /** The batch of these samples, in this order; the caller owns its tensors. */
  batch(indices: Int32Array): unknown;
}

/** A dataset that gives its samples by number. */
export interface IndexedDataset<Sample> {
  readonly length: number;
  /**
   * Sample `i`, or a promise of it. Tensors that the call makes are disposed when the batch is made, unless kept by
   * `tf.keep`; those that existed before stay.
   */
  get(i: number): Sample | PromiseLike<Sample>;
}

/** Samples that the caller holds. They stay as they are. */
export function arraySource(samples: ArrayLike<unknown>, collate: Collate | undefined): IndexedSource {
  return {
    kind: 'indexed',
    get length() {
      return samples.length;
    },
    batch: (indices) =>
      batchSamples(
        Array.from(indices, (i) => samples[i]),
        collate,
        new TensorMark(),
      ),
  };
}

/** Rows of tensors. */
export function columnSource(columns: Columns): IndexedSource {
  return { kind: 'indexed', length: columns.length, batch: (indices) => columns.rows(indices) };
}

/** Samples that a function fetches; those of one batch are fetched at the same time. */
export function getterSource(dataset: IndexedDataset<unknown>, collate: Collate | undefined): IndexedSource {
  return {
    kind: 'indexed',
    get length() {
      return checkLength(dataset.length);
    },
    async batch(indices) {
      const mark = new TensorMark();
      const samples = await fetchAll(dataset, indices, mark);
      try {
        return batchSamples(samples, collate, mark);
      } finally {
        mark.disposeNew(samples);
      }
    },
  };
}

async function fetchAll(
  dataset: IndexedDataset<unknown>,
  indices: Int32Array,
  mark: TensorMark,
): Promise<unknown[]> {
  const fetches = Array.from(indices, async (i) => dataset.get(i));
  const settled = await Promise.allSettled(fetches);
  const samples = settled.map((result) => (result.status === 'fulfilled' ? result.value : undefined));
  const failed = settled.find((result) => result.status === 'rejected');
  if (!failed) return samples;
  mark.disposeNew(samples);
  throw failed.reason;
}

function checkLength(length: number): number {
  if (Number.isSafeInteger(length) && length >= 0) return length;
  throw new AccError('ACC_DATA_DATASET', `DataLoader: the dataset's length is ${length}.`, {
    help: 'length is the number of samples, an integer from 0.',
  });
}

import { AccError, isAccError } from '@acc/contract';
import type { IndexedDataset, SampleDraw, WorkerDataset } from '@acc/formats';
import { batchSamples, type Collate } from './batch-samples.js';
import type { Columns } from './columns.js';
import { PLACES, type Drawing } from './drawing.js';
import { sampleFailed } from './errors.js';
import { nameOfSample } from './name-of-sample.js';
import { TensorMark } from './structure.js';

/** Data whose samples are numbered from 0 to length - 1. */
export interface IndexedSource {
  readonly kind: 'indexed';
  readonly length: number;
  /** Makes a batch of these samples, in this order. The caller owns its tensors. */
  batch(indices: Int32Array, draw: SampleDraw, drawing: Drawing): unknown;
  /** How a worker thread opens the dataset. Absent if it cannot. */
  readonly inWorker?: WorkerDataset | undefined;
}

/** Samples that the caller holds. They are not changed. */
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

/** Samples that are rows of tensors. */
export function columnSource(columns: Columns): IndexedSource {
  return { kind: 'indexed', length: columns.length, batch: (indices) => columns.rows(indices) };
}

/** Samples that a function fetches. The samples of one batch are fetched concurrently. */
export function getterSource(dataset: IndexedDataset<unknown>, collate: Collate | undefined): IndexedSource {
  return {
    kind: 'indexed',
    inWorker: dataset.inWorker,
    get length() {
      return checkLength(dataset.length);
    },
    async batch(indices, draw, drawing) {
      const mark = new TensorMark();
      const get = (i: number) => drawing(draw.epoch, PLACES.sample + i, () => sampleOf(dataset, i, draw));
      const fetches = fetchAll(indices, get);
      const samples = fetches.some(isPromise) ? await settle(fetches, mark) : fetches;
      try {
        return batchSamples(samples, collate, mark);
      } finally {
        mark.disposeNew(samples);
      }
    },
  };
}

/** A sample, or a promise of it. An error of ours says itself what failed. */
function sampleOf(dataset: IndexedDataset<unknown>, index: number, draw: SampleDraw): unknown {
  const fail = (error: unknown): never => {
    if (isAccError(error)) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw sampleFailed({ index, name: nameOfSample(dataset, index) }, message, error);
  };
  try {
    const sample = dataset.get(index, draw);
    return isPromise(sample) ? sample.then(undefined, fail) : sample;
  } catch (error) {
    return fail(error);
  }
}

/**
 * Samples, or promises of them. An error is returned as a rejected promise, so that the other
 * samples are there to be disposed.
 */
function fetchAll(indices: Int32Array, get: (i: number) => unknown): unknown[] {
  const fetches = new Array<unknown>(indices.length);
  for (let place = 0; place < indices.length; place++) {
    try {
      fetches[place] = get(indices[place]!);
    } catch (error) {
      fetches[place] = Promise.reject(error as Error);
    }
  }
  return fetches;
}

/** The samples. If one fails, the tensors of the others are disposed. */
async function settle(fetches: readonly unknown[], mark: TensorMark): Promise<unknown[]> {
  const settled = await Promise.allSettled(fetches);
  const samples = settled.map((result) => (result.status === 'fulfilled' ? result.value : undefined));
  const failed = settled.find((result) => result.status === 'rejected');
  if (!failed) return samples;
  mark.disposeNew(samples);
  throw failed.reason;
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

function checkLength(length: number): number {
  if (Number.isSafeInteger(length) && length >= 0) return length;
  throw new AccError(
    'ACC_DATA_DATASET',
    `DataLoader: the dataset's length is ${length}, which is not a number of samples.`,
    {
      help: 'Set length to the number of samples, an integer from 0.',
    },
  );
}

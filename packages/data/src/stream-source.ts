import type { Collate } from './batch-samples.js';
import { notADataset, spentIterator } from './errors.js';

/** Data that can only be read from its start. */
export interface StreamSource {
  readonly kind: 'stream';
  readonly collate: Collate | undefined;
  /** Opens the samples of one epoch. */
  open(): AsyncGenerator<unknown, void, undefined>;
}

export type SampleStream<Sample> = Iterable<Sample | PromiseLike<Sample>> | AsyncIterable<Sample>;

/** Wraps an iterable, or a function that returns an iterable for each epoch. */
export function streamSource(
  dataset: SampleStream<unknown> | (() => SampleStream<unknown> | PromiseLike<SampleStream<unknown>>),
  collate: Collate | undefined,
): StreamSource {
  let wasOpened = false;
  return {
    kind: 'stream',
    collate,
    async *open() {
      if (typeof dataset === 'function') {
        yield* checkStream(await dataset());
      } else {
        if (wasOpened && isIterator(dataset)) throw spentIterator();
        wasOpened = true;
        yield* dataset;
      }
    },
  };
}

function checkStream(result: unknown): SampleStream<unknown> {
  if (typeof result === 'object' && result !== null && isStream(result)) return result;
  throw notADataset(
    `the function returned ${result === null ? 'null' : `a ${typeof result}`}, which is not iterable`,
    'Return an array, an iterable, an async iterable, or a promise of one of these.',
  );
}

export function isStream(value: object): value is SampleStream<unknown> {
  return Symbol.asyncIterator in value || Symbol.iterator in value;
}

/**
 * Whether the dataset is an iterator. An iterator that is its own iterable continues where it is
 * instead of starting again.
 */
function isIterator(dataset: SampleStream<unknown>): boolean {
  return 'next' in dataset;
}

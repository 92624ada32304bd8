import { batchSamples } from './batch-samples.js';
import { PLACES } from './drawing.js';
import type { OpenStep } from './deliver.js';
import type { EpochPlan } from './indexed-steps.js';
import { epochSamples, layoutStep, slotsOf, stepSamples, type Reader } from './step-layout.js';
import type { StreamSource } from './stream-source.js';
import { cloneTensors, disposeTensors, TensorMark } from './structure.js';

/** Runs code that may draw random numbers, at a place of the epoch. See `Drawing`. */
export type Place = <T>(place: number, run: () => T) => T;

export interface StreamStart {
  /** The number of samples to read and skip. */
  readonly from: number;
  readonly at: Place;
}

/**
 * Yields one rank's steps through a stream. Every rank reads all samples and batches its own. The
 * loader disposes the tensors that were created since the epoch began, as readers of a tf.data
 * generator do.
 */
export async function* streamSteps(
  source: StreamSource,
  plan: EpochPlan,
  { from, at }: StreamStart,
): AsyncGenerator<OpenStep<unknown>, void, undefined> {
  const { deal, rank, dropLast } = plan;
  const mark = new TensorMark();
  const stream = placed(source.open(), at);
  const filling = new Filling(plan);
  const window: unknown[] = [];
  let [total, goesOn] = [0, true];
  try {
    while (goesOn && total < from) {
      goesOn = await readWindow(stream, window, Math.min(stepSamples(deal), from - total));
      total += window.length;
      filling.remember(window);
      mark.disposeNew(window.splice(0));
    }
    while (goesOn) {
      goesOn = await readWindow(stream, window, stepSamples(deal));
      const real = epochSamples(window.length, deal, dropLast);
      total += real;
      filling.remember(window.slice(0, real));
      const layout = layoutStep(real, deal);
      const slots = slotsOf(layout, rank);
      if (real > 0 && slots.length > 0) {
        const filled = (slot: number) => filling.sample((slot - real) % total);
        const samples = Array.from(slots, (slot) => (slot < real ? window[slot] : filled(slot)));
        const batch = at(placeOf(total, rank), () => batchSamples(samples, source.collate, mark));
        mark.disposeNew(window.splice(0));
        yield { batch, counts: { rows: layout.rows, realRows: layout.realRows }, end: total };
      }
      mark.disposeNew(window.splice(0));
    }
  } finally {
    mark.disposeNew(window);
    filling.dispose();
    await stream.return(undefined);
  }
}

/** The place of a reader's batch that ends at a number of samples. */
const placeOf = (end: number, rank: Reader) => PLACES.batch + end + (rank === 'all' ? 0 : rank);

/** The same samples, each read at its place. */
function placed(
  stream: AsyncGenerator<unknown>,
  at: Place,
): Pick<AsyncGenerator<unknown>, 'next' | 'return'> {
  let read = 0;
  return {
    next: () => at(PLACES.sample + read++, () => stream.next()),
    return: (value) => stream.return(value),
  };
}

/** Reads until the window holds `size` samples. Returns false if the stream ends before. */
async function readWindow(
  stream: Pick<AsyncGenerator<unknown>, 'next'>,
  window: unknown[],
  size: number,
): Promise<boolean> {
  while (window.length < size) {
    const { value, done } = await stream.next();
    if (done) return false;
    window.push(value);
  }
  return true;
}

/**
 * Copies of the first samples of an epoch: as many as a rank may need to fill its part of the last
 * step.
 */
class Filling {
  readonly #capacity: number;
  readonly #samples: unknown[] = [];

  constructor({ deal, rank }: EpochPlan) {
    const slots = slotsOf(layoutStep(stepSamples(deal), deal), rank);
    // A step that is filled has at least one real sample. Therefore the reader's last slot takes at
    // most the sample with this index.
    this.#capacity = deal.fills && !deal.sharesLast ? (slots.at(-1) ?? 0) : 0;
  }

  remember(samples: readonly unknown[]): void {
    const room = this.#capacity - this.#samples.length;
    for (const sample of samples.slice(0, room)) this.#samples.push(cloneTensors(sample));
  }

  sample(i: number): unknown {
    return this.#samples[i];
  }

  dispose(): void {
    disposeTensors(this.#samples);
  }
}

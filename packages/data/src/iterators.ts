import type { BatchIterator } from './dataset-steps.js';
import { Progress, type DataPosition } from './progress.js';

/** Where a tf.data dataset is. */
export interface DatasetPosition extends DataPosition {
  /** The iterators that were made before the present or next iteration's: each is shuffled differently. */
  readonly opened: number;
}

interface Numbered {
  readonly number: number;
  readonly batches: BatchIterator<unknown>;
}

/** The iterators of a dataset, in the order in which they were made, and how far the one that is read has come. */
export class Iterators {
  readonly progress = new Progress();
  readonly #dataset: { iterator(): Promise<BatchIterator<unknown>> };
  #opened = 0;
  #read = 0;
  /** The number of the iterator that the next iteration is to read, in a program that goes on. */
  #wanted: number | undefined;

  constructor(dataset: { iterator(): Promise<BatchIterator<unknown>> }) {
    this.#dataset = dataset;
  }

  async open(): Promise<Numbered> {
    const number = this.#opened++;
    return { number, batches: await this.#dataset.iterator() };
  }

  /** What an iteration reads, for which `made` was made: that, or a later one. */
  async toRead(made: Numbered): Promise<BatchIterator<unknown>> {
    let { number, batches } = made;
    while (this.#wanted !== undefined && number < this.#wanted) ({ number, batches } = await this.open());
    this.#wanted = undefined;
    this.#read = number;
    return batches;
  }

  /** See {@link Progress.passEnd}. */
  passEnd(): void {
    if (this.#wanted !== undefined && this.progress.getState().isAtEnd) this.#wanted++;
    this.progress.passEnd();
  }

  getState(): DatasetPosition {
    const opened = this.progress.isActive ? this.#read : (this.#wanted ?? this.#opened);
    return { ...this.progress.getState(), opened };
  }

  setState(state: DatasetPosition): void {
    this.progress.setState(state);
    this.#wanted = state.opened;
  }
}

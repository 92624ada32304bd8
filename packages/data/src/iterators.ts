import type { BatchIterator } from './dataset-steps.js';
import type { Read } from './options.js';
import { Progress, type DataPosition } from './progress.js';

/** The position in a tf.data dataset. */
export interface DatasetPosition extends DataPosition {
  /**
   * The number of iterators created before that of the current or next iteration. Each iterator may
   * be shuffled differently.
   */
  readonly opened: number;
}

interface Numbered {
  readonly number: number;
  readonly batches: BatchIterator<unknown>;
}

/**
 * Numbers the iterators of a dataset in order of creation, and tracks the progress of the one that
 * is read.
 */
export class Iterators {
  readonly progress = new Progress();
  readonly #dataset: { iterator(): Promise<BatchIterator<unknown>> };
  readonly #run: Read;
  #opened = 0;
  #read = 0;
  /** The number of the iterator that the next iteration must read after a resume. */
  #wanted: number | undefined;

  constructor(dataset: { iterator(): Promise<BatchIterator<unknown>> }, run: Read = (read) => read()) {
    this.#dataset = dataset;
    this.#run = run;
  }

  async open(): Promise<Numbered> {
    const number = this.#opened++;
    return { number, batches: await this.#run(() => this.#dataset.iterator()) };
  }

  /**
   * The batches that an iteration reads. `made` was created for it. After a resume, iterators up to
   * the right number are created and skipped.
   */
  async toRead(created: Numbered): Promise<BatchIterator<unknown>> {
    let { number, batches } = created;
    while (this.#wanted !== undefined && number < this.#wanted) ({ number, batches } = await this.open());
    this.#wanted = undefined;
    this.#read = number;
    return { next: () => this.#run(() => batches.next()) };
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

/** The inputs of random changes of a sample, besides its number. See `sampleWords`. */
export interface SampleDraw {
  /** The seed of the loader. */
  readonly seed: number;
  /** The number of the epoch, from 0. */
  readonly epoch: number;
}

/** A dataset that returns its samples by number. */
export interface IndexedDataset<Sample> {
  readonly length: number;
  /**
   * Returns sample `i`, or a promise of it. Tensors that the call creates are disposed once the
   * batch is made, unless `tf.keep` keeps them. Older tensors are not disposed.
   *
   * @param draw For augmentation: `sampleWords(draw.seed, draw.epoch, i)` draws the same numbers
   * with any number of workers and ranks, and after a resume.
   */
  get(i: number, draw: SampleDraw): Sample | PromiseLike<Sample>;
  /** A name of sample `i` for error messages, for example its file. */
  nameOf?(i: number): string;
  /** How worker threads open the same dataset. See `moduleDataset` of `@acc/data`. */
  readonly inWorker?: WorkerDataset;
}

/** How a worker thread opens a dataset. */
export interface WorkerDataset {
  /** The address of an ES module, for example `import.meta.resolve('./dataset.js')`. */
  readonly module: string;
  /** The name of an export: a dataset, or a function that returns one. Default `default`. */
  readonly export?: string;
  /** The arguments of the function. They are copied by the structured clone algorithm. */
  readonly args?: readonly unknown[];
}

import { AccError } from '@acc/contract';

/** The facts about an epoch on which its order may depend. They are the same on every rank. */
export interface SamplerEpoch {
  /** The number of samples of the dataset. */
  readonly samples: number;
  /** The seed of the loader. */
  readonly seed: number;
  /** The number of the epoch, from 0. */
  readonly epoch: number;
  /**
   * The `batchSize` of the loader: the number of consecutive samples that go to one rank. Undefined
   * with `splitBatches`, where that number depends on the number of ranks.
   */
  readonly batchSize?: number | undefined;
}

/**
 * Chooses the samples of an epoch and their order. The order is that of the whole job: consecutive
 * batches go to the ranks in turn. It depends on neither rank nor number of ranks, so a checkpoint
 * resumes exactly on any number of ranks.
 */
export interface Sampler {
  /** The number of samples of an epoch, for a dataset of `samples` samples. */
  size(samples: number): number;
  /** The numbers of the samples, `[size(samples)]`, each from 0 to `samples - 1`. */
  order(epoch: SamplerEpoch): Int32Array;
}

/** `ACC_DATA_SAMPLER`: a sampler does not fit the dataset, or returns an invalid order. */
export function samplerError(what: string, help: string, details: Record<string, unknown> = {}): AccError {
  return new AccError('ACC_DATA_SAMPLER', `${what}.`, { help, details });
}

/** @throws AccError `ACC_DATA_SAMPLER` unless there is one value for each sample. */
export function requireEach(where: string, value: number, samples: number): void {
  if (value === samples) return;
  throw samplerError(
    `${where}: ${value} values were given for ${samples} samples`,
    'Give one value for each sample of the dataset, in the order of the dataset.',
    { given: value, samples },
  );
}

/**
 * @param list The sampler and its list: `weightedSampler: weights`.
 * @param expected A sentence that says what the numbers must be.
 * @throws AccError `ACC_DATA_SAMPLER` unless all numbers pass `isRight`.
 */
export function requireNumbers(
  list: string,
  numbers: ArrayLike<number>,
  isRight: (value: number) => boolean,
  expected: string,
): void {
  for (let i = 0; i < numbers.length; i++) {
    if (isRight(numbers[i]!)) continue;
    throw samplerError(`${list}[${i}] is ${numbers[i]}`, expected, { index: i, value: numbers[i] });
  }
}

/** The order of a sampler, checked. @throws AccError `ACC_DATA_SAMPLER`. */
export function orderOf(sampler: Sampler, epoch: SamplerEpoch): Int32Array {
  const order = sampler.order(epoch);
  const size = sampler.size(epoch.samples);
  const help = 'order() returns size() numbers from 0 to samples - 1.';
  if (order.length !== size)
    throw samplerError(
      `The sampler's order() returned ${order.length} numbers, and its size() is ${size}`,
      help,
    );
  const wrong = order.find((index) => index < 0 || index >= epoch.samples);
  if (wrong === undefined) return order;
  throw samplerError(
    `The sampler's order() returned ${wrong}, and samples are 0 to ${epoch.samples - 1}`,
    help,
  );
}

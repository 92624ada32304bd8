import { AccError } from '@acc/contract';

const LIKE =
  'Give batches that the model will be used on: calibration: [batch, …], a DataLoader, or a tf.data.Dataset.';

const problem = (message: string, help = LIKE): AccError =>
  new AccError('ACC_CALIBRATION_DATA', message, { help });

export const noBatches = (): AccError => problem('quantize: calibration has no batches.');

export const endless = (): AccError =>
  problem(
    'quantize: the dataset of calibration has no end, and all of its batches are read.',
    'Give some of them: calibration: dataset.take(8).',
  );

/** @param what A verb and the rest of a sentence. */
export const badBatch = (index: number, what: string): AccError =>
  problem(`quantize: batch ${index} of calibration ${what}.`);

/** For layers that the batches did not reach. */
export const notCalled = (names: readonly string[]): AccError =>
  problem(
    `quantize: no batch of calibration multiplied with ${names.map((name) => `'${name}'`).join(', ')}.`,
    'Leave these layers out with exclude, and give them to a second call without calibration.',
  );

export const notFiniteInputs = (name: string): AccError =>
  problem(
    `quantize: the layer '${name}' has inputs that are NaN or infinite for a batch of calibration.`,
    'Find the layer before it whose outputs overflow: model.predict gives them for the same batch.',
  );

/** For a model that is to load the ranges of another one. */
export const noRangeYet = (name: string): AccError =>
  problem(
    `The layer '${name}' has no range of its inputs yet, because it was quantized with calibration: 'stored'.`,
    'Load the weights of a calibrated model first, by accelerator.loadModel or loadState.',
  );

export const notPositiveDefinite = (name: string, cause: unknown): AccError =>
  new AccError(
    'ACC_CALIBRATION_DATA',
    `quantize: the inputs of '${name}' are too much alike for 'gptq', even with damping.`,
    { help: 'Give more rows in calibration, or write a larger gptq: { damping }.', cause },
  );

import type { Variable } from '@tensorflow/tfjs-core';
import { parseOptions } from '@acc/contract';
import { freezeWeight, type ModelInternals } from '@acc/tfjs-internals';
import type { PlannedLayer } from './budget.js';
import { batchesOf } from './calibration/batches.js';
import { notCalibratedWhileLoading, notWhileLoading } from './errors.js';
import { fold, foldsOf } from './fold-batch-norm.js';
import { MODEL_SCHEMA, requireManyValues, type QuantizeOptions } from './options.js';
import { pack, requireQuantizable, requireShape } from './pack.js';
import { planFor, planOf, type Given } from './plan.js';
import type { LayerReport } from './report.js';
import { packedInStages } from './stages.js';
import { withInputs } from './layer-run.js';

/**
 * Packs the weights of a model in place: the kernels of dense, convolution, LSTM, GRU and simple recurrent
 * layers, and the tables of embeddings, also within layers of `@acc/transformer` and nested models. Biases
 * and all other weights, such as those of `Experts`, stay as they are. The packed weights are frozen; see
 * {@link quantizeVariable}.
 *
 * With `bitsPerWeight`, each layer gets a format of its own, so that the sum of the layers' ratios of noise to
 * signal is small.
 *
 * With `calibration`, the model predicts batches of inputs first. From those, `static` gets the range of each
 * layer's inputs, a weight `input_range` of the layer, and `gptq` the sums of their products. GPTQ packs the layers
 * of the model in their order, and predicts the batches again for each, with the layers before it packed.
 *
 * Call it once the model has its weights, and before `prepare`.
 *
 * @param model A tf.LayersModel that is built, on the backend `acc`.
 * @returns For each layer, in the model's order: the bits of a weight, the ratio of signal to noise, and
 * the bytes in memory; also the method and its time.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_INVALID_ARGUMENT` if it is no model;
 * `ACC_QUANTIZE_LAYERS` if no layer matches; `ACC_CALIBRATION_DATA` for batches that do not fit the model;
 * `ACC_FOLD` for a batch normalization that cannot be folded; all of {@link quantizeVariable}. Nothing has changed
 * then, save for `ACC_CALIBRATION_DATA` about a layer: batch normalizations are folded by then, and with `gptq` and
 * `awq`, the layers before it are packed.
 */
export async function quantize(model: object, options: QuantizeOptions): Promise<LayerReport[]> {
  requireManyValues('quantize', options);
  const given = parseOptions('quantize', MODEL_SCHEMA, options);
  const planned = await planFor(model, given);
  requireAll(planned);
  const folds = given.foldBatchNorm ? foldsOf(model as never, planned) : [];
  const { calibration } = given;
  const hasData = calibration !== undefined && calibration !== 'stored';
  using batches = hasData ? await batchesOf(model as ModelInternals, calibration) : undefined;
  // Another call may have packed layers in the meantime.
  requireAll(planned);
  // The model predicts the same.
  for (const each of folds) fold(each);
  const run = { model: model as ModelInternals, given, batches };
  return await packedInStages(run, withInputs(run, planned));
}

/**
 * As {@link quantize}, for a model that is about to get its weights. Nothing is packed yet.
 *
 * @returns Packs a variable that has its values, if the options name its layer. Call it for each variable
 * as soon as it has them: then the model never has all of them in float32.
 * @throws AccError As {@link quantize}. The result throws `ACC_QUANTIZE_VALUES`.
 */
export function quantizeWhileLoading(model: object, options: QuantizeOptions): (variable: Variable) => void {
  requireManyValues('loadPretrained', options);
  const given = parseOptions('loadPretrained', MODEL_SCHEMA, options);
  if (given.bitsPerWeight !== undefined) throw notWhileLoading();
  requireNoCalibration(given);
  const planned = planOf(model, given, 'loadPretrained');
  const weights = planned.flatMap((layer) =>
    layer.weights.map((each) => ({ ...each, settings: layer.settings })),
  );
  for (const { weight, axis, settings } of weights) requireShape(weight.read(), settings, axis);
  const byVariable = new Map(weights.map((each) => [each.weight.read(), each]));
  return (variable) => {
    const found = byVariable.get(variable);
    if (!found) return;
    pack(variable, found.settings, found.axis);
    freezeWeight(found.weight);
  };
}

/** @throws AccError `ACC_INVALID_OPTION` for options that need a model with all its weights. */
function requireNoCalibration({ activations, algorithm, foldBatchNorm, ...given }: Given): void {
  const isOfValues = algorithm === 'nearest' || algorithm === 'hqq';
  const others = [given.calibration, given.observer, given.gptq, given.smoothQuant];
  if (!isOfValues || activations === 'static' || foldBatchNorm || others.some((each) => each !== undefined))
    throw notCalibratedWhileLoading();
}

function requireAll(planned: readonly PlannedLayer[]): void {
  for (const { weights, settings } of planned) {
    for (const { weight, axis } of weights) requireQuantizable(weight.read(), settings, axis);
  }
}

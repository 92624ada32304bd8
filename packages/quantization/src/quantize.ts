import { nextFrame, type Variable } from '@tensorflow/tfjs-core';
import { parseOptions } from '@acc/contract';
import { freezeWeight, isModel } from '@acc/tfjs-internals';
import { plannedLayers, type PlannedLayer } from './budget.js';
import { chosenLayers, requireProducts, type LayerGlobs } from './choose-layers.js';
import { inQat, noFormat, noModel, notWhileLoading, notWithBudget } from './errors.js';
import { MODEL_SCHEMA, requireManyValues, type QuantizeOptions } from './options.js';
import { pack, requireQuantizable, requireShape } from './pack.js';
import { quantizableLayers, type QuantizableLayer } from './quantizable-layers.js';
import { qatLayerOf } from './qat/qat-layer.js';
import { reportOf, type LayerReport } from './report.js';
import { settingsOf } from './settings.js';

/**
 * Packs the weights of a model in place: the kernels of dense, convolution, LSTM, GRU and simple recurrent
 * layers, and the tables of embeddings, also within layers of `@acc/transformer` and nested models. Biases
 * and all other weights, such as those of `Experts`, stay as they are. The packed weights are frozen; see
 * {@link quantizeVariable}.
 *
 * With `bitsPerWeight`, each layer gets a format of its own, so that the sum of the layers' ratios of noise to
 * signal is small.
 *
 * Call it once the model has its weights, and before `prepare`.
 *
 * @param model A tf.LayersModel that is built, on the backend `acc`.
 * @returns For each layer, in the model's order: the bits of a weight, the ratio of signal to noise, and
 * the bytes in memory.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_INVALID_ARGUMENT` if it is no model;
 * `ACC_QUANTIZE_LAYERS` if no layer matches; all of {@link quantizeVariable}. Nothing has changed then.
 */
export async function quantize(model: object, options: QuantizeOptions): Promise<LayerReport[]> {
  requireManyValues('quantize', options);
  const given = parseOptions('quantize', MODEL_SCHEMA, options);
  const planned =
    given.bitsPerWeight === undefined ? planOf(model, given, 'quantize') : await budgetOf(model, given);
  for (const { weights, settings } of planned) {
    for (const { weight, axis } of weights) requireQuantizable(weight.read(), settings, axis);
  }
  const reports: LayerReport[] = [];
  for (const { name, weights, settings } of planned) {
    const packed = weights.map(({ weight, axis }) => {
      const variable = weight.read();
      const facts = pack(variable, settings, axis);
      freezeWeight(weight);
      return facts;
    });
    reports.push({ layer: name, ...reportOf(packed) });
    // The program's timers and messages get a turn.
    await nextFrame();
  }
  return reports;
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

type Given = ReturnType<typeof MODEL_SCHEMA.parse>;

/** One format for all layers. */
function planOf(
  model: object,
  { layers, exclude, weights, ...given }: Given,
  caller: string,
): PlannedLayer[] {
  if (!weights) throw noFormat(caller);
  const settings = settingsOf(caller, { ...given, weights });
  const chosen = layersToQuantize(caller, model, { layers, exclude });
  if (settings.activations === 'dynamic') requireProducts(caller, settings.activations, chosen);
  return chosen.map((layer) => ({ ...layer, settings }));
}

/** A format for each layer. */
async function budgetOf(model: object, { layers, exclude, ...given }: Given): Promise<PlannedLayer[]> {
  const { bitsPerWeight, weights, granularity, activations, algorithm } = given;
  if (weights || granularity !== undefined || activations !== 'none') throw notWithBudget();
  const chosen = layersToQuantize('quantize', model, { layers, exclude });
  return plannedLayers(chosen, bitsPerWeight!, algorithm);
}

function layersToQuantize(caller: string, model: object, globs: LayerGlobs): QuantizableLayer[] {
  if (!isModel(model)) throw noModel(caller);
  const chosen = chosenLayers(caller, quantizableLayers(model.layers), globs);
  const trained = chosen.find(({ layer }) => qatLayerOf(layer));
  if (trained) throw inQat(caller, trained.name);
  return chosen;
}

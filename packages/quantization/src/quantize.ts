import { nextFrame, type Variable } from '@tensorflow/tfjs-core';
import { AccError, matchesGlob, parseOptions } from '@acc/contract';
import { freezeWeight, isModel } from '@acc/tfjs-internals';
import { noLayers, notRounded } from './errors.js';
import { MODEL_SCHEMA, type QuantizeOptions } from './options.js';
import { pack, requireQuantizable, requireShape } from './pack.js';
import { quantizableLayers, type QuantizableLayer } from './quantizable-layers.js';
import { reportOf, type VariableReport } from './report.js';
import { settingsOf } from './settings.js';

/** The result for a layer. */
export interface LayerReport extends VariableReport {
  /** The name of the layer. */
  readonly layer: string;
}

/**
 * Packs the weights of a model in place: the kernels of dense, convolution, LSTM, GRU and simple recurrent
 * layers, and the tables of embeddings, also within layers of `@acc/transformer` and nested models. Biases
 * and all other weights, such as those of `Experts`, stay as they are. The packed weights are frozen; see
 * {@link quantizeVariable}.
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
  const { settings, chosen } = planOf(model, options, 'quantize');
  for (const { weights } of chosen) {
    for (const { weight, axis } of weights) requireQuantizable(weight.read(), settings, axis);
  }
  const reports: LayerReport[] = [];
  for (const { name, weights } of chosen) {
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
  const { settings, chosen } = planOf(model, options, 'loadPretrained');
  const weights = chosen.flatMap((layer) => layer.weights);
  for (const { weight, axis } of weights) requireShape(weight.read(), settings, axis);
  const byVariable = new Map(weights.map((each) => [each.weight.read(), each]));
  return (variable) => {
    const found = byVariable.get(variable);
    if (!found) return;
    pack(variable, settings, found.axis);
    freezeWeight(found.weight);
  };
}

function planOf(model: object, options: QuantizeOptions, caller: string) {
  const { layers, exclude, ...given } = parseOptions(caller, MODEL_SCHEMA, options);
  const settings = settingsOf(caller, given);
  if (!isModel(model)) throw noModel(caller);
  const chosen = chosenLayers(caller, quantizableLayers(model.layers), { layers, exclude });
  if (settings.activations === 'dynamic') requireProducts(caller, chosen);
  return { settings, chosen };
}

/** @throws AccError `ACC_INVALID_OPTION` for layers whose input is not rounded. */
function requireProducts(caller: string, chosen: readonly QuantizableLayer[]): void {
  const others = chosen.filter(({ isProduct }) => !isProduct).map(({ name }) => name);
  if (others.length > 0) throw notRounded(caller, others);
}

function noModel(caller: string): AccError {
  return new AccError('ACC_INVALID_ARGUMENT', `${caller} expects a tf.LayersModel.`, {
    help: 'Write await quantize(model, …), or quantizeVariable(variable, …) in a program without a model.',
  });
}

const matches = ({ name, path }: QuantizableLayer, glob: string): boolean =>
  matchesGlob(name, glob) || matchesGlob(path, glob);

/** @throws AccError `ACC_QUANTIZE_LAYERS` for a glob that matches nothing, and if no layer is left. */
function chosenLayers(
  caller: string,
  all: readonly QuantizableLayer[],
  {
    layers,
    exclude,
  }: { readonly layers?: readonly string[] | undefined; readonly exclude: readonly string[] },
): QuantizableLayer[] {
  const names = all.map(({ name }) => name);
  for (const glob of [...(layers ?? []), ...exclude]) {
    if (!all.some((layer) => matches(layer, glob))) throw noLayers(caller, glob, names);
  }
  const chosen = all.filter(
    (layer) =>
      (!layers || layers.some((glob) => matches(layer, glob))) &&
      !exclude.some((glob) => matches(layer, glob)),
  );
  if (chosen.length === 0) throw noLayers(caller, undefined, names);
  return chosen;
}

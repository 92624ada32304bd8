import { parseOptions } from '@acc/contract';
import { isModel, layersOfModels } from '@acc/tfjs-internals';
import { chosenLayers, requireProducts } from '../choose-layers.js';
import { compiledBefore, inQat, invalid, noModel, withinAnother } from '../errors.js';
import { requireQuantizable } from '../pack.js';
import { quantizableLayers, type QuantizableLayer } from '../quantizable-layers.js';
import { requireManyValues } from '../options.js';
import { settingsOf } from '../settings.js';
import { MOST_PASSES, QAT_SCHEMA, type QatOptions } from './options.js';
import { QatLayer, qatLayerOf, type QatSettings } from './qat-layer.js';

/** Classes that use their weights only when they are called. Tables of `@acc/transformer` are also used by others. */
const CLASSES: ReadonlySet<string> = new Set([
  ...['Dense', 'Conv1D', 'Conv2D', 'Conv3D'],
  ...['Embedding', 'GRU', 'LSTM', 'SimpleRNN'],
]);

/**
 * Prepares a model in place for quantization-aware training (Jacob et al. 2018): the layers compute with
 * weights that are rounded to the numbers of their packed form, and with rounded inputs if `activations`
 * says so, while float32 weights are trained. Gradients pass through the rounding, and those of values out
 * of range stop there (straight-through estimator). {@link convertQat} packs the weights afterwards.
 *
 * Call it before `compile` and `prepare`. It may be called again for other layers.
 *
 * @param model A tf.LayersModel that is built, on the backend `acc`. Its dense, convolution, embedding, LSTM,
 * GRU and simple recurrent layers are prepared, also within other layers.
 * @returns The model.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_INVALID_ARGUMENT` if it is no model;
 * `ACC_QUANTIZE_LAYERS` if no layer matches; `ACC_QAT_STATE` for a layer that is prepared already;
 * `ACC_QUANTIZE_TOO_LATE` for learned scales of a model that was compiled before; all of `quantizeVariable`.
 * Nothing has changed then.
 */
export function prepareQat<M extends object>(model: M, options: QatOptions): M {
  requireManyValues('prepareQat', options);
  const given = parseOptions('prepareQat', QAT_SCHEMA, options);
  const settings = qatSettingsOf(given);
  if (!isModel(model)) throw noModel('prepareQat');
  const all = quantizableLayers(model.layers).filter(({ className }) => CLASSES.has(className));
  const chosen = chosenLayers('prepareQat', all, given);
  const prepared = chosen.find(({ layer }) => qatLayerOf(layer));
  if (prepared) throw inQat('prepareQat', prepared.name);
  requireInputs(chosen, settings, layersOfModels(model.layers));
  for (const { weights } of chosen) {
    for (const { weight, axis } of weights) requireQuantizable(weight.read(), settings.settings, axis);
  }
  if (settings.isLearned && model.optimizer) throw compiledBefore();
  for (const layer of chosen) new QatLayer(layer, settings);
  return model;
}

type Parsed = ReturnType<typeof QAT_SCHEMA.parse>;

function qatSettingsOf({ weights, granularity, activations, scales, ...others }: Parsed): QatSettings {
  const { observer, freezeAfter } = others;
  if (activations !== 'static' && (observer !== undefined || freezeAfter !== undefined)) {
    throw invalid(
      'prepareQat',
      `${observer === undefined ? 'freezeAfter' : 'observer'} has no effect with activations: '${activations}'.`,
      "Write activations: 'static', or leave the option out.",
    );
  }
  const ofProducts = activations === 'dynamic' ? activations : 'none';
  const settings = { weights, granularity, algorithm: 'nearest', activations: ofProducts } as const;
  return {
    settings: settingsOf('prepareQat', settings),
    weights,
    activations,
    isLearned: scales === 'learned',
    observing: { observer: observer ?? 'movingAverage', freezeAfter: freezeAfter ?? MOST_PASSES },
  };
}

/** @throws AccError `ACC_INVALID_OPTION` for layers whose input is not rounded, or whose range has no place. */
function requireInputs(
  chosen: readonly QuantizableLayer[],
  { activations }: QatSettings,
  outermost: ReadonlySet<object>,
): void {
  if (activations === 'none') return;
  requireProducts('prepareQat', activations, chosen);
  if (activations === 'dynamic') return;
  const within = chosen.find(({ layer }) => !outermost.has(layer));
  if (within) throw withinAnother(within.name);
}

import { isModel } from '@acc/tfjs-internals';
import { plannedLayers, type PlannedLayer } from './budget.js';
import { chosenLayers, requireProducts, type LayerGlobs } from './choose-layers.js';
import {
  inQat,
  invalid,
  needsCalibration,
  noFactors,
  noFormat,
  noModel,
  notWithBudget,
  withoutEffect,
} from './errors.js';
import { hasFactors } from './gptq/patches.js';
import type { Algorithm, CalibratedAlgorithm, MODEL_SCHEMA } from './options.js';
import { quantizableLayers, type QuantizableLayer } from './quantizable-layers.js';
import { qatLayerOf } from './qat/qat-layer.js';
import { settingsOf } from './settings.js';

/** The options of a model with all defaults. */
export type Given = ReturnType<typeof MODEL_SCHEMA.parse>;

/** The format of each layer. @throws AccError as `quantize`. */
export async function planFor(model: object, given: Given): Promise<PlannedLayer[]> {
  requireCalibrationFits(given);
  return given.bitsPerWeight === undefined ? planOf(model, given, 'quantize') : budgetOf(model, given);
}

/** One format for all layers. */
export function planOf(
  model: object,
  { layers, exclude, weights, algorithm, ...given }: Given,
  caller: string,
): PlannedLayer[] {
  if (!weights) throw noFormat(caller);
  const settings = settingsOf(caller, { ...pick(given), algorithm: ofValues(algorithm), weights });
  const chosen = layersToQuantize(caller, model, { layers, exclude });
  if (settings.activations !== 'none') requireProducts(caller, settings.activations, chosen);
  requireFactors(algorithm, weights, chosen);
  return chosen.map((layer) => ({ ...layer, settings }));
}

/** Algorithms with calibration pack a matrix when its inputs are known. Others need its values alone. */
const ofValues = (algorithm: CalibratedAlgorithm): Algorithm => (algorithm === 'hqq' ? algorithm : 'nearest');

const pick = ({ granularity, activations }: Pick<Given, 'granularity' | 'activations'>) => ({
  granularity,
  activations,
});

/** A format for each layer. */
async function budgetOf(model: object, { layers, exclude, ...given }: Given): Promise<PlannedLayer[]> {
  const { bitsPerWeight, weights, granularity, activations, algorithm } = given;
  if (weights || granularity !== undefined || activations !== 'none') throw notWithBudget();
  const chosen = layersToQuantize('quantize', model, { layers, exclude });
  if (algorithm === 'smoothQuant') throw withoutEffect(SMOOTH, ROUNDED);
  requireFactors(algorithm, 'int4', chosen);
  return plannedLayers(chosen, bitsPerWeight!, ofValues(algorithm));
}

function layersToQuantize(caller: string, model: object, globs: LayerGlobs): QuantizableLayer[] {
  if (!isModel(model)) throw noModel(caller);
  const chosen = chosenLayers(caller, quantizableLayers(model.layers), globs);
  const trained = chosen.find(({ layer }) => qatLayerOf(layer));
  if (trained) throw inQat(caller, trained.name);
  return chosen;
}

const SMOOTH = "algorithm: 'smoothQuant'";
const ROUNDED = "activations: 'dynamic' or 'static'";

/** @throws AccError `ACC_INVALID_OPTION`. */
function requireFactors(
  algorithm: CalibratedAlgorithm,
  weights: 'int8' | 'int4' | 'nf4',
  chosen: readonly QuantizableLayer[],
): void {
  if (!needsRows(algorithm)) return;
  if (algorithm === 'gptq' && weights === 'nf4') {
    throw invalid(
      'quantize',
      "'gptq' moves errors between numbers with equal steps, which nf4 does not have.",
      "Write weights: 'int4' or 'int8', or another algorithm.",
    );
  }
  const fits = (layer: QuantizableLayer) =>
    algorithm === 'smoothQuant' ? layer.isProduct : hasFactors(layer);
  const others = chosen.filter((layer) => !fits(layer)).map(({ name }) => name);
  if (others.length > 0) throw noFactors(algorithm, others);
}

const needsRows = (algorithm: CalibratedAlgorithm): boolean =>
  algorithm === 'gptq' || algorithm === 'awq' || algorithm === 'smoothQuant';

function requireCalibrationFits(given: Given): void {
  const { algorithm, activations, calibration, observer } = given;
  const isStatic = activations === 'static';
  for (const own of ['gptq', 'smoothQuant'] as const) {
    if (given[own] && algorithm !== own) throw withoutEffect(own, `algorithm: '${own}'`);
  }
  if (observer && !isStatic) throw withoutEffect('observer', "activations: 'static'");
  if (algorithm === 'smoothQuant' && activations === 'none') throw withoutEffect(SMOOTH, ROUNDED);
  if (algorithm === 'awq' && isStatic) {
    throw invalid(
      'quantize',
      "algorithm: 'awq' chooses factors of the inputs after activations: 'static' has found their range.",
      "Write algorithm: 'smoothQuant', or activations: 'dynamic'.",
    );
  }
  const needed = needsRows(algorithm) ? `algorithm: '${algorithm}'` : isStatic && "activations: 'static'";
  if (!needed) {
    if (calibration === undefined) return;
    throw withoutEffect('calibration', "activations: 'static', or algorithm: 'gptq', 'awq' or 'smoothQuant'");
  }
  if (calibration === undefined || (algorithm === 'gptq' && calibration === 'stored'))
    throw needsCalibration(needed);
  if (calibration === 'stored' && observer) throw withoutEffect('observer', 'batches in calibration');
}

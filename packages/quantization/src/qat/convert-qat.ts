import { nextFrame } from '@tensorflow/tfjs-core';
import { isModel, nestedLayers } from '@acc/tfjs-internals';
import { noModel, noRanges, notInQat } from '../errors.js';
import type { LayerReport } from '../report.js';
import { qatLayerOf, type QatLayer } from './qat-layer.js';

/**
 * Packs the weights that {@link prepareQat} has prepared, as `quantize` does, with the scales that were
 * trained. The model then computes what it computed in training, to the rounding of float32: products take
 * float32 values of the packed weights, and with `activations: 'dynamic'` exact sums of whole numbers. With
 * `static`, inputs are rounded by the ranges that were observed, which stay as they are.
 *
 * @param model The model that was given to {@link prepareQat}. `accelerator.freeMemory()` comes before.
 * @returns For each layer, in the model's order: the bits of a weight, the ratio of the trained weights to
 * the errors of their rounding, and the bytes in memory.
 * @throws AccError `ACC_INVALID_ARGUMENT` if it is no model; `ACC_QAT_STATE` without `prepareQat`;
 * `ACC_QAT_NO_DATA` for a range of which no training pass was seen; `ACC_QUANTIZE_VALUES` for weights that
 * are not finite; `ACC_QUANTIZE_TOO_LATE` while an Accelerator trains the model. Nothing has changed then.
 */
export async function convertQat(model: object): Promise<LayerReport[]> {
  const prepared = qatLayersOf('convertQat', model);
  for (const each of prepared) each.requireConvertible();
  const reports: LayerReport[] = [];
  for (const each of prepared) {
    reports.push(each.convert(model));
    // The program's timers and messages get a turn.
    await nextFrame();
  }
  return reports;
}

/**
 * Lets the ranges that observers have found stay as they are, while the weights go on training. Also in
 * recorded steps. On several ranks, all of them call it between the same steps.
 *
 * @param model A model that was given to {@link prepareQat} with `activations: 'static'`.
 * @throws AccError `ACC_INVALID_ARGUMENT`, `ACC_QAT_STATE`, `ACC_QAT_NO_DATA`.
 */
export function freezeObservers(model: object): void {
  const prepared = qatLayersOf('freezeObservers', model).filter(({ hasRange }) => hasRange);
  if (prepared.length === 0) throw noRanges('freezeObservers');
  for (const each of prepared) each.requireData('freezeObservers');
  for (const each of prepared) each.freeze();
}

/** @throws AccError `ACC_INVALID_ARGUMENT`, `ACC_QAT_STATE`. */
function qatLayersOf(caller: string, model: object): QatLayer[] {
  if (!isModel(model)) throw noModel(caller);
  const prepared = [...nestedLayers(model.layers)].flatMap((layer) => qatLayerOf(layer) ?? []);
  if (prepared.length === 0) throw notInQat(caller);
  return prepared;
}

import type { LayersModel } from '@tensorflow/tfjs-layers';
import { AccError } from '@acc/contract';
import { nestedLayers } from '@acc/tfjs-internals';
import { loraOf, type Dense } from './lora-dense.js';

/** The layers of a model that have an adapter, in the model's order. */
function adaptedLayers(model: LayersModel): Dense[] {
  return [...nestedLayers(model.layers)].filter((layer): layer is Dense => loraOf(layer) !== undefined);
}

/** @throws AccError `ACC_LORA_PRESENT`. */
export function requireNoAdapters(model: LayersModel, caller: string): void {
  const [layer] = adaptedLayers(model);
  if (!layer) return;
  throw new AccError('ACC_LORA_PRESENT', `${caller}: the layer '${layer.name}' has an adapter already.`, {
    help: 'Call mergeLora(model) first.',
    details: { layer: layer.name },
  });
}

/** @throws AccError `ACC_LORA_MISSING` if no layer has an adapter. */
export function requireAdapters(model: LayersModel, caller: string): Dense[] {
  const adapted = adaptedLayers(model);
  if (adapted.length > 0) return adapted;
  throw new AccError('ACC_LORA_MISSING', `${caller}: no layer of the model has an adapter.`, {
    help: 'Call lora(model, { rank, targets }) first.',
  });
}

/** The name of a layer as its weights have it, which tells nested layers of one name apart. */
export function pathOf(layer: Dense): string {
  return layer.kernel.originalName.replace(/\/kernel$/, '');
}

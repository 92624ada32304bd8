import type { Variable } from '@tensorflow/tfjs-core';
import type { LayerWithBuffers } from './layer.js';
import { nestedLayers } from './nested-layers.js';

/**
 * Weights that the forward pass changes and no gradient does, such as the moving statistics of batch
 * normalization: those of the layers and of the layers within them. Frozen weights are not among
 * them.
 */
export function buffersOf(layers: readonly unknown[]): Variable[] {
  const found = [...nestedLayers(layers)].flatMap((layer) =>
    ((layer as LayerWithBuffers)._nonTrainableWeights ?? []).map((weight) => weight.read()),
  );
  // A layer that is made of parts has theirs.
  return [...new Set(found)];
}

import { layerNorm } from '../functions/layer-norm.js';
import type { AccLayerCall } from './acc-layer-call.js';
import type { LayerNormalizationLayer } from '@acc/tfjs-internals';

export const callLayerNormalization: AccLayerCall<LayerNormalizationLayer> = (layer, x) => {
  const { axis, epsilon, gamma, beta } = layer;
  // For other orders of axes tfjs reshapes the weights, and it rejects other ranks.
  const areLast = axis.every((dim, i) => dim === x.rank - axis.length + i);
  if (!areLast || x.rank < 2 || x.rank > 4) return undefined;
  return layerNorm(x, gamma?.read(), beta?.read(), { epsilon, axis });
};

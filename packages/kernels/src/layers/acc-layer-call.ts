import type { Tensor } from '@tensorflow/tfjs-core';
import type { Kwargs, LayerInternals } from '@acc/tfjs-internals';
import type { AccBackend } from '../backend.js';

/**
 * A `FusedLayerCall` of the backend `acc`: returns the layer's result for `x`, or undefined if
 * tfjs's own code must compute it.
 */
export type AccLayerCall<Layer extends LayerInternals> = (
  layer: Layer,
  x: Tensor,
  kwargs: Kwargs,
  backend: AccBackend,
) => Tensor | Tensor[] | undefined;

import type { Tensor } from '@tensorflow/tfjs-core';
import type { Kwargs, LayerInternals } from '@acc/tfjs-internals';
import type { AccBackend } from '../backend.js';

/** A `FusedLayerCall` of the backend `acc`: what the layer computes on `x`, or undefined where tfjs's own way must compute. */
export type AccLayerCall<Layer extends LayerInternals> = (
  layer: Layer,
  x: Tensor,
  kwargs: Kwargs,
  backend: AccBackend,
) => Tensor | Tensor[] | undefined;

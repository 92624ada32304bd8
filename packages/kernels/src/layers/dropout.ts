import { dropout } from '../functions/dropout.js';
import type { AccLayerCall } from './acc-layer-call.js';
import type { DropoutLayer } from '@acc/tfjs-internals';

/** Draws from the backend's generator; tfjs's own code uses a generator in JavaScript. */
export const callDropout: AccLayerCall<DropoutLayer> = (layer, x, kwargs) => {
  const { rate, noiseShape, seed } = layer;
  const isPlain = noiseShape == null && seed == null && rate > 0 && rate < 1;
  if (!isPlain || !kwargs.training) return undefined;
  layer.invokeCallHook(x, kwargs);
  return dropout(x, rate);
};

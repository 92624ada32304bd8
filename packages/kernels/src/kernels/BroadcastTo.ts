import { BroadcastTo, type BroadCastToAttrs, type BroadcastToInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { kernel } from '../kernel.js';

const expand = operator('aten::expand');

/** Returns a view. tf.broadcastTo calls Tile; this kernel serves callers that run it by name. */
export const broadcastTo = kernel<BroadcastToInputs, BroadCastToAttrs>(
  BroadcastTo,
  ({ inputs: { x }, attrs: { shape }, backend }) =>
    backend.wrap(expand(backend.native(x), shape), x.dtype, backend.keptElements(x)),
);

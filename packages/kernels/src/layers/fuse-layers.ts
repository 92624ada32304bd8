import { backend, Tensor, tidy } from '@tensorflow/tfjs-core';
import { AccBackend } from '../backend.js';
import { callConv2d, callDense } from './affine.js';
import { callBatchNormalization } from './batch-normalization.js';
import { callDropout } from './dropout.js';
import {
  gradientDepth,
  nestedLayers,
  ownClassName,
  patch,
  type Kwargs,
  type LayerCall,
  type LayerInternals,
  type Undo,
} from '@acc/tfjs-internals';
import { callLayerNormalization } from './layer-normalization.js';
import { callGru, callLstm } from './recurrent.js';

/** What a layer computes on `x`, or undefined, with nothing changed, for what tfjs's own way must compute. */
export type FusedCall<Layer extends LayerInternals> = (
  layer: Layer,
  x: Tensor,
  kwargs: Kwargs,
  backend: AccBackend,
) => Tensor | Tensor[] | undefined;

/** By tfjs's names of the layers' classes. */
const FUSED_CALLS: ReadonlyMap<string | undefined, FusedCall<never>> = new Map<string, FusedCall<never>>([
  ['BatchNormalization', callBatchNormalization],
  ['Conv2D', callConv2d],
  ['Dense', callDense],
  ['Dropout', callDropout],
  ['GRU', callGru],
  ['LayerNormalization', callLayerNormalization],
  ['LSTM', callLstm],
]);

/**
 * Lets layers of tfjs compute by fused kernels: each layer gets a `call` of its own; its class, its weights and what is
 * saved of it stay as they are. Layers within layers are found: those of models, of `bidirectional` and of
 * `timeDistributed`. Layers of other classes, subclasses included, and layers whose `call` was replaced are left alone.
 * While another backend than `acc` is active, layers compute in their own way.
 *
 * @returns Gives the layers their own way back.
 */
export function fuseLayers(layers: readonly unknown[]): () => void {
  const undos: Undo[] = [];
  for (const layer of nestedLayers(layers)) {
    const fused = FUSED_CALLS.get(ownClassName(layer)) as FusedCall<LayerInternals> | undefined;
    if (!fused || Object.hasOwn(layer, 'call')) continue;
    undos.push(
      patch(layer as LayerInternals, 'call', (own) => callWith(layer as LayerInternals, own, fused)),
    );
  }
  return () => {
    for (const undo of undos.splice(0)) undo();
  };
}

function callWith(layer: LayerInternals, own: LayerCall, fused: FusedCall<LayerInternals>): LayerCall {
  return (inputs, kwargs) => {
    const x = Array.isArray(inputs) ? inputs[0] : inputs;
    const isOne = !Array.isArray(inputs) || inputs.length === 1;
    // Second derivatives need operators that have gradients.
    const isFusable =
      isOne && x instanceof Tensor && x.dtype === 'float32' && x.size > 0 && gradientDepth() <= 1;
    const active = backend();
    if (isFusable && active instanceof AccBackend) {
      const result = tidy(() => fused(layer, x, kwargs ?? {}, active) as Tensor);
      if (result) return result;
    }
    return own.call(layer, inputs, kwargs);
  };
}

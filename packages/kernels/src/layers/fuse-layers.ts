import { Tensor, tidy } from '@tensorflow/tfjs-core';
import { FUSED_LAYERS, type FusedLayerCalls } from '@acc/contract';
import {
  gradientDepth,
  nestedLayers,
  ownClassName,
  patch,
  type LayerCall,
  type LayerInternals,
  type Undo,
} from '@acc/tfjs-internals';
import { activeSlots } from '../slots.js';

const CLASSES: ReadonlySet<string | undefined> = new Set(FUSED_LAYERS);

/**
 * Lets layers of tfjs compute by fused kernels: each layer gets a `call` of its own; its class, its weights and what is
 * saved of it stay as they are. Layers within layers are found: those of models, of `bidirectional` and of
 * `timeDistributed`. Layers of other classes, subclasses included, and layers whose `call` was replaced are left alone.
 * Each call asks the kernel layer of the backend that is active; where it has nothing for the class, the layer computes in its own
 * way.
 *
 * @returns Gives the layers their own way back.
 */
export function fuseLayers(layers: readonly unknown[]): () => void {
  const undos: Undo[] = [];
  for (const layer of nestedLayers(layers)) {
    const name = ownClassName(layer);
    if (!CLASSES.has(name) || Object.hasOwn(layer, 'call')) continue;
    undos.push(
      patch(layer as LayerInternals, 'call', (own) =>
        callWith(layer as LayerInternals, own, name as keyof FusedLayerCalls),
      ),
    );
  }
  return () => {
    for (const undo of undos.splice(0)) undo();
  };
}

function callWith(layer: LayerInternals, own: LayerCall, name: keyof FusedLayerCalls): LayerCall {
  return (inputs, kwargs) => {
    const { layerCalls } = activeSlots();
    const x = Array.isArray(inputs) ? inputs[0] : inputs;
    const isOne = !Array.isArray(inputs) || inputs.length === 1;
    // Second derivatives need operators that have gradients.
    const isFusable =
      isOne && x instanceof Tensor && x.dtype === 'float32' && x.size > 0 && gradientDepth() <= 1;
    if (isFusable && layerCalls?.[name]) {
      const result = tidy(() => layerCalls[name]!(layer, x, kwargs ?? {}) as Tensor);
      if (result) return result;
    }
    return own.call(layer, inputs, kwargs);
  };
}

import { Tensor, tidy } from '@tensorflow/tfjs-core';
import { FUSED_LAYERS, type FusedLayerCalls } from '@acc/contract';
import {
  gradientDepth,
  isReplaced,
  nestedLayers,
  tfjsClassName,
  patch,
  type LayerCall,
  type LayerInternals,
  type Undo,
} from '@acc/tfjs-internals';
import { activeSlots } from '../slots.js';

const CLASSES: ReadonlySet<string | undefined> = new Set(FUSED_LAYERS);

/**
 * Makes tfjs layers compute with fused kernels. Each layer gets a `call` of its own; its class, its
 * weights and its saved form do not change. Nested layers are included: those in models, in
 * `bidirectional` and in `timeDistributed`. Layers of other classes, including subclasses, and
 * layers whose `call` was replaced do not change. Each call asks the kernel layer of the active
 * backend. If it has no function for the class, the layer runs its own code.
 *
 * @returns A function that restores the layers' own `call`.
 */
export function fuseLayers(layers: readonly unknown[]): () => void {
  const undos: Undo[] = [];
  for (const layer of nestedLayers(layers)) {
    const name = tfjsClassName(layer);
    if (!CLASSES.has(name) || isReplaced(layer, 'call')) continue;
    undos.push(
      patch(layer as LayerInternals, 'call', 'fused layers', (own) =>
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
    // Second derivatives need operators that each have a gradient.
    const isFusable =
      isOne && x instanceof Tensor && x.dtype === 'float32' && x.size > 0 && gradientDepth() <= 1;
    if (isFusable && layerCalls?.[name]) {
      const result = tidy(() => layerCalls[name]!(layer, x, kwargs ?? {}) as Tensor);
      if (result) return result;
    }
    return own.call(layer, inputs, kwargs);
  };
}

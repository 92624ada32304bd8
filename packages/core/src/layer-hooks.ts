import type { Tensor } from '@tensorflow/tfjs-core';
import { AccError, checkKeys } from '@acc/contract';
import { describe } from '@acc/tape';
import { patch, type LayerInternals, type Undo } from '@acc/tfjs-internals';
import type { RemovableHandle } from './state/state-hooks.js';

/** The input or output of a layer, or a list of several. */
export type LayerTensors = Tensor | Tensor[];

/**
 * Functions around the forward pass of a layer. They run where tfjs calls the layer with tensors:
 * in training, predictions and evaluation, and again where activations are recomputed.
 */
export interface LayerHook {
  /** Returns the inputs that the layer gets. Undefined: those that were given. */
  preForward?(layer: object, inputs: LayerTensors): LayerTensors | undefined;
  /** Returns the outputs of the layer. Undefined: those that it computed. */
  postForward?(layer: object, outputs: LayerTensors): LayerTensors | undefined;
}

interface Hooked {
  /** In the order in which they were registered. */
  readonly hooks: Set<LayerHook>;
  readonly undo: Undo;
}

/** The layers that have hooks. */
const hookedLayers = new WeakMap<object, Hooked>();
/** The hooks of all layers. */
const registered = new Set<LayerHook>();

/** Whether some layer has a hook. */
export function haveLayersHooks(): boolean {
  return registered.size > 0;
}

/**
 * Adds a hook to a layer. Hooks of a layer run in the order in which they were registered. Gradients
 * flow through the operators in them. A pass frees its tensors, so a hook that keeps one for later
 * keeps a copy: `tf.keep(tf.clone(x))`. While any layer has a hook, steps of `accelerator.compile` run
 * without replay, because JavaScript does not run in replays.
 *
 * A hook may be added before or after `prepare`. A model computes with its layers, so hooks of the
 * model itself only run for `model.apply`, and where it is a layer of another model.
 *
 * @param layer A layer of tfjs, for example `model.getLayer('dense')`.
 * @returns A handle whose `remove()` takes the hook away.
 * @throws AccError `ACC_INVALID_ARGUMENT`, `ACC_UNKNOWN_OPTION`.
 */
export function registerHook(layer: object, hook: LayerHook): RemovableHandle {
  requireLayer(layer);
  checkKeys('registerHook', hook, ['preForward', 'postForward']);
  const own = { ...hook };
  const hooked = hookedLayers.get(layer) ?? hookUp(layer);
  hooked.hooks.add(own);
  registered.add(own);
  return {
    remove() {
      registered.delete(own);
      hooked.hooks.delete(own);
      if (hooked.hooks.size > 0 || hookedLayers.get(layer) !== hooked) return;
      hookedLayers.delete(layer);
      hooked.undo();
    },
  };
}

function hookUp(layer: LayerInternals): Hooked {
  const hooks = new Set<LayerHook>();
  const undo = patch(layer, 'call', 'layer hooks', (own) => (inputs, kwargs) => {
    let given = one(inputs);
    for (const hook of hooks) given = hook.preForward?.(layer, given) ?? given;
    const computed = own.call(layer, inFormOf(inputs, given), kwargs);
    let outputs = one(computed);
    for (const hook of hooks) outputs = hook.postForward?.(layer, outputs) ?? outputs;
    return inFormOf(computed, outputs);
  });
  const hooked = { hooks, undo };
  hookedLayers.set(layer, hooked);
  return hooked;
}

/** The tensor of a list of one. Models give their layers a list in any case. */
function one(tensors: LayerTensors): LayerTensors {
  return Array.isArray(tensors) && tensors.length === 1 ? tensors[0]! : tensors;
}

/** The tensors in a list if `form` is one. Layers of a program may read `inputs[0]`. */
function inFormOf(form: LayerTensors, tensors: LayerTensors): LayerTensors {
  return Array.isArray(form) && !Array.isArray(tensors) ? [tensors] : tensors;
}

function requireLayer(layer: unknown): asserts layer is LayerInternals {
  if (
    typeof (layer as Partial<LayerInternals> | null | undefined)?.call === 'function' &&
    typeof layer === 'object'
  )
    return;
  throw new AccError('ACC_INVALID_ARGUMENT', `registerHook needs a layer, not ${describe(layer)}.`, {
    help: "Pass a layer of the model, for example model.getLayer('dense').",
  });
}

import { engine, type Optimizer } from '@tensorflow/tfjs-core';
import { randomLayer, registeredDevice, restoreChoices, savedChoices } from '#platform/acc-backend';
import type { KernelLayer, KernelLayerSlots, ListMath, Recorder, StateLayer } from '@acc/contract';
import { kernelLayerWith } from './kernel-layer.js';
import { fuseLayers, freeActivations } from './layers/index.js';
import { activeSlots } from './slots.js';

export interface ActiveLayerOptions {
  /** Whether libtorch is loaded. The program may then choose the backend `acc` at any time. */
  readonly hasNative: boolean;
}

/**
 * The kernel layer of the backend that is active when a member is used: programs may call
 * `tf.setBackend` at any time. If libtorch is loaded, the process-wide parts are available on every
 * backend: libtorch's random generator and the choice of kernels.
 */
export function activeLayer({ hasNative }: ActiveLayerOptions): KernelLayer {
  const layer = layersByBackend();
  let recorder: Recorder | undefined;
  const active: KernelLayer = {
    get backendName() {
      return layer().backendName;
    },
    get device() {
      return layer().device;
    },
    toNative: (x) => layer().toNative(x),
    get borrow() {
      return layer().borrow;
    },
    get writable() {
      return layer().writable;
    },
    fromNative: (native, dtype) => layer().fromNative(native, dtype),
    lists: activeLists(layer),
    state: activeState(layer, hasNative),
    get functions() {
      return layer().functions;
    },
    get layerCalls() {
      return layer().layerCalls;
    },
    fusedApply: activeApply(layer),
    fuseLayers,
    freeActivations,
    get defer() {
      return layer().defer;
    },
    get divideMemory() {
      return layer().divideMemory;
    },
    get resetPeakMemory() {
      return layer().resetPeakMemory;
    },
    get recorder() {
      const own = layer().recorder;
      recorder = own ?? recorder;
      // A recording in progress keeps its recorder, even if the step changes the backend.
      return own ?? (recorder?.isRecording ? recorder : undefined);
    },
    get precision() {
      return layer().precision;
    },
    get random() {
      return layer().random ?? random;
    },
    get fixResults() {
      return layer().fixResults;
    },
    get localShards() {
      return layer().localShards;
    },
  };
  const random = hasNative ? randomLayer(active) : undefined;
  return active;
}

/**
 * Returns a function that gives the layer of the active backend. `tf.engine().reset()` and
 * `tf.removeBackend` may replace the backend object behind a name.
 */
function layersByBackend(): () => KernelLayer {
  let last: KernelLayerSlots | undefined;
  let lastLayer: KernelLayer | undefined;
  return () => {
    const slots = activeSlots();
    if (slots !== last) {
      last = slots;
      lastLayer = kernelLayerWith(engine().backendName, slots);
    }
    return lastLayer!;
  };
}

/**
 * Takes each step with the layer that is active at that time, or else with the method of the
 * optimizer's class. Returns undefined if the optimizer's own method was replaced: a step may then
 * do something else.
 */
function activeApply(layer: () => KernelLayer): NonNullable<KernelLayer['fusedApply']> {
  return (optimizer) => {
    const ofClass = optimizer.constructor.prototype as Optimizer;
    if (optimizer.applyGradients !== ofClass.applyGradients) return undefined;
    let last: KernelLayer | undefined;
    let apply: Optimizer['applyGradients'] | undefined;
    return (gradients) => {
      const active = layer();
      if (active !== last) {
        last = active;
        apply = active.fusedApply?.(optimizer);
      }
      if (apply) apply(gradients);
      else ofClass.applyGradients.call(optimizer, gradients);
    };
  };
}

function activeLists(layer: () => KernelLayer): ListMath {
  return {
    add: (...args) => layer().lists.add(...args),
    addProduct: (sum, product) => layer().lists.addProduct?.(sum, product) ?? product(),
    scale: (list, factor) => layer().lists.scale(list, factor),
    unscale: (list, factor) => layer().lists.unscale(list, factor),
    clamp: (list, min, max) => layer().lists.clamp(list, min, max),
    norm: (list) => layer().lists.norm(list),
  };
}

function activeState(layer: () => KernelLayer, hasNative: boolean): StateLayer {
  const state = () => layer().state;
  const device = () => registeredDevice() ?? 'cpu';
  return {
    dtypeOf: (x) => state().dtypeOf(x),
    bytesOf: (x) => state().bytesOf(x),
    bytesNow: (x) => state().bytesNow(x),
    allocate: (dtype, shape) => state().allocate(dtype, shape),
    get map() {
      return state().map;
    },
    get checksum() {
      return state().checksum;
    },
    getState: () => (hasNative ? savedChoices(device()) : state().getState()),
    setState: (ways) => (hasNative ? restoreChoices(device(), ways) : state().setState(ways)),
  };
}

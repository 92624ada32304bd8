import { engine } from '@tensorflow/tfjs-core';
import type { KernelLayer, ListMath, Recorder, StateLayer } from '@acc/contract';
import { kernelLayerOf } from './kernel-layer.js';
import { fuseLayers, freeActivations } from './layers/index.js';
import { fusedApply } from './optimizers/index.js';
import { randomLayer } from './random-layer.js';
import { restoreWays, savedWays } from './state/ways.js';

export interface ActiveLayerOptions {
  /** Whether libtorch is loaded, so that the program may choose the backend `acc` at any time. */
  readonly hasNative: boolean;
}

/**
 * The kernel layer of the backend that is active when a member is used: programs may call `tf.setBackend` at any time.
 * What belongs to the process is there on every backend where libtorch is loaded: its random generator, its choice of kernels.
 * Layers and optimizers that are fused on another backend compute in tfjs's way until `acc` is active.
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
    ...(hasNative && { fusedApply, fuseLayers, freeActivations }),
    get recorder() {
      const own = layer().recorder;
      recorder = own ?? recorder;
      // A step that is being recorded is told, whatever it has done to the backend.
      return own ?? (recorder?.isRecording ? recorder : undefined);
    },
    get precision() {
      return layer().precision;
    },
    get random() {
      return random ?? layer().random;
    },
    get fixResults() {
      return layer().fixResults;
    },
  };
  const random = hasNative ? randomLayer(active) : undefined;
  return active;
}

/** Gives the layer of the active backend. `tf.engine().reset()` and `tf.removeBackend` put another object in a name's place. */
function layersByBackend(): () => KernelLayer {
  const layers = new WeakMap<object, KernelLayer>();
  let last: object | undefined;
  let lastLayer: KernelLayer | undefined;
  return () => {
    const tfjs = engine();
    const { backend } = tfjs;
    if (backend !== last) {
      last = backend;
      lastLayer = layers.get(backend) ?? kernelLayerOf(tfjs.backendName, backend);
      layers.set(backend, lastLayer);
    }
    return lastLayer!;
  };
}

function activeLists(layer: () => KernelLayer): ListMath {
  return {
    add: (list, others, factor) => layer().lists.add(list, others, factor),
    scale: (list, factor) => layer().lists.scale(list, factor),
    unscale: (list, factor) => layer().lists.unscale(list, factor),
    clamp: (list, min, max) => layer().lists.clamp(list, min, max),
    norm: (list) => layer().lists.norm(list),
  };
}

function activeState(layer: () => KernelLayer, hasNative: boolean): StateLayer {
  const state = () => layer().state;
  return {
    dtypeOf: (x) => state().dtypeOf(x),
    bytesOf: (x) => state().bytesOf(x),
    allocate: (dtype, shape) => state().allocate(dtype, shape),
    get map() {
      return state().map;
    },
    get checksum() {
      return state().checksum;
    },
    getState: () => (hasNative ? savedWays() : state().getState()),
    setState: (ways) => (hasNative ? restoreWays(ways) : state().setState(ways)),
  };
}

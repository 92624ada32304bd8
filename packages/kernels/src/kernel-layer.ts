import type { KernelLayer, KernelLayerSlots } from '@acc/contract';
import { freeActivations, fuseLayers } from './layers/index.js';
import { portableLists } from './list-math/portable-lists.js';
import { portableBridge } from './portable-bridge.js';
import { slotsOf } from './slots.js';
import { portableState } from './state/portable-state.js';

const layers = new WeakMap<KernelLayerSlots, KernelLayer>();

/** The kernel layer of a tfjs backend: its registered slots, and portable code for the rest. */
export function kernelLayerOf(backendName: string, backend: unknown): KernelLayer {
  return kernelLayerWith(backendName, slotsOf(backendName, backend));
}

/** The layer with these slots; one for each slots object. */
export function kernelLayerWith(backendName: string, slots: KernelLayerSlots): KernelLayer {
  const before = layers.get(slots);
  if (before) return before;
  const layer = completed(backendName, slots);
  layers.set(slots, layer);
  return layer;
}

/** Slots are called as methods, so that `this` stays the object that has them. */
function completed(backendName: string, slots: KernelLayerSlots): KernelLayer {
  const { bridge = portableBridge, recorder, precision, random } = slots;
  return {
    backendName,
    device: slots.device ?? 'cpu',
    toNative: (x) => bridge.toNative(x),
    fromNative: (native, dtype) => bridge.fromNative(native, dtype),
    ...(bridge.borrow && { borrow: (x) => bridge.borrow!(x) }),
    ...(bridge.writable && { writable: (xs) => bridge.writable!(xs) }),
    lists: slots.lists ?? portableLists(),
    state: slots.state ?? portableState(),
    functions: slots.functions ?? {},
    layerCalls: slots.layerCalls ?? {},
    ...(slots.fusedApply && { fusedApply: (optimizer) => slots.fusedApply!(optimizer) }),
    fuseLayers,
    freeActivations,
    ...(slots.defer && { defer: (info, load) => slots.defer!(info, load) }),
    ...(slots.divideMemory && { divideMemory: (full, ranges) => slots.divideMemory!(full, ranges) }),
    ...(slots.resetPeakMemory && { resetPeakMemory: () => slots.resetPeakMemory!() }),
    ...(recorder && { recorder }),
    ...(precision && { precision }),
    ...(random && { random }),
    ...(slots.localShards && { localShards: (options) => slots.localShards!(options) }),
    ...(slots.fixResults && { fixResults: () => slots.fixResults!() }),
  };
}

import { engine, type KernelBackend } from '@tensorflow/tfjs-core';
import {
  checkSlots,
  kernelLayerChanges,
  registeredKernelLayer,
  type KernelLayerRegistration,
  type KernelLayerSlots,
} from '@acc/contract';
import { CPU_LAYER } from './cpu-layer.js';

/** Layers of backends that come with tfjs. A registered layer replaces them. */
const BUILT_IN: ReadonlyMap<string, KernelLayerRegistration<never>> = new Map([
  [CPU_LAYER.backendName, CPU_LAYER],
]);

interface Known {
  readonly registration: KernelLayerRegistration<never> | undefined;
  readonly slots: KernelLayerSlots;
}

const known = new WeakMap<object, Known>();

/** The slots of `backend`: the same object until another layer is registered for its name. */
export function slotsOf(backendName: string, backend: unknown): KernelLayerSlots {
  const registration = registeredKernelLayer(backendName) ?? BUILT_IN.get(backendName);
  const before = known.get(backend as KernelBackend);
  if (before && before.registration === registration) return before.slots;
  const slots = registration ? checkSlots(backendName, registration.slotsOf(backend as never)) : {};
  known.set(backend as KernelBackend, { registration, slots });
  return slots;
}

let lastBackend: KernelBackend | undefined;
let lastChanges = 0;
let lastSlots: KernelLayerSlots = {};

/**
 * The slots of the active backend. Every call of a fused function asks for them, so this takes
 * nanoseconds.
 */
export function activeSlots(): KernelLayerSlots {
  const tfjs = engine();
  const { backend } = tfjs;
  if (backend === lastBackend && kernelLayerChanges() === lastChanges) return lastSlots;
  const slots = slotsOf(tfjs.backendName, backend);
  lastBackend = backend;
  lastChanges = kernelLayerChanges();
  lastSlots = slots;
  return slots;
}

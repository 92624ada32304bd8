import type { KernelBackend, Optimizer } from '@tensorflow/tfjs-core';
import { checkKeys } from './check-keys.js';
import { AccError } from './errors.js';
import {
  FUSED_FUNCTIONS,
  FUSED_LAYERS,
  type FusedFunctions,
  type FusedLayerCalls,
} from './fused-functions.js';
import type { PrecisionLayer, RandomLayer, TensorBridge, FixedResults } from './kernel-layer.js';
import type { ListMath } from './list-math.js';
import type { Recorder } from './recording.js';
import type { StateLayer } from './state-layer.js';

/**
 * What a backend has of its own. Every slot may be absent: then that part is computed the portable way, by tfjs's operators and the
 * typed arrays that `dataSync` gives, or is refused where there is no portable way.
 */
export interface KernelLayerSlots {
  /** Where tensors live. Absent: `cpu`. */
  readonly device?: string;
  /** How tensors are read and written. Absent: by `dataSync` and `tf.tensor`. */
  readonly bridge?: TensorBridge;
  /** Absent: tensor by tensor, in tfjs's operators. */
  readonly lists?: ListMath;
  /** Absent: by typed arrays; there are no element types but tfjs's. */
  readonly state?: StateLayer;
  /** Functions of `@acc/kernels`. Absent, as one function in it may be: in tfjs's operators. */
  readonly functions?: FusedFunctions;
  /** Layers of prepared models. Absent, as one class in it may be: tfjs's own way. */
  readonly layerCalls?: FusedLayerCalls;
  /** Steps of optimizers. Absent: the optimizer's own `applyGradients`. See `KernelLayer.fusedApply`. */
  fusedApply?(optimizer: Optimizer): Optimizer['applyGradients'] | undefined;
  /** Absent: `accelerator.compile` is refused. */
  readonly recorder?: Recorder;
  /** Absent: mixed precision is refused. */
  readonly precision?: PrecisionLayer;
  /** Absent: random numbers are drawn in JavaScript. */
  readonly random?: RandomLayer;
  /** Absent: `deterministic` is refused. */
  fixResults?(): FixedResults;
}

const SLOTS = [
  ...['device', 'bridge', 'lists', 'state', 'functions', 'layerCalls', 'fusedApply'],
  ...['recorder', 'precision', 'random', 'fixResults'],
];

export interface KernelLayerRegistration<Backend extends KernelBackend = KernelBackend> {
  /** tfjs's name of the backend, as `tf.setBackend` takes it. */
  readonly backendName: string;
  /**
   * What `backend` has of its own. Called once for each object that tfjs makes of the backend, when it is first used;
   * the result is kept, so slots that change have to be getters within their objects.
   */
  slotsOf(backend: Backend): KernelLayerSlots;
}

const registrations = new Map<string, KernelLayerRegistration<never>>();
let changes = 0;

/**
 * Has `@acc/core` use what a tfjs backend has of its own, whenever that backend is active. A backend without a registration is used
 * the portable way. It holds at once, also while the backend is active. The same object may be registered again.
 *
 * @returns Takes it back.
 * @throws AccError `ACC_KERNEL_LAYER_TAKEN` where the backend has another registration.
 */
export function registerKernelLayer<Backend extends KernelBackend>(
  registration: KernelLayerRegistration<Backend>,
): () => void {
  const { backendName } = registration;
  checkKeys('registerKernelLayer', registration, ['backendName', 'slotsOf']);
  const other = registrations.get(backendName);
  if (other !== undefined && other !== registration) {
    throw new AccError('ACC_KERNEL_LAYER_TAKEN', `The backend '${backendName}' has a kernel layer already.`, {
      help: 'Register one package for each backend; the function that registerKernelLayer has returned takes one back.',
      details: { backendName },
    });
  }
  registrations.set(backendName, registration);
  changes++;
  return () => {
    if (registrations.get(backendName) !== registration) return;
    registrations.delete(backendName);
    changes++;
  };
}

/** What is registered for the backend. */
export function registeredKernelLayer(backendName: string): KernelLayerRegistration<never> | undefined {
  return registrations.get(backendName);
}

/** Another number whenever a registration was made or taken back. */
export function kernelLayerChanges(): number {
  return changes;
}

/**
 * `slots`, whose names are known ones.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function checkSlots(backendName: string, slots: KernelLayerSlots): KernelLayerSlots {
  const where = `the kernel layer of '${backendName}'`;
  checkKeys(where, slots, SLOTS);
  if (slots.functions) checkKeys(`${where}, functions`, slots.functions, FUSED_FUNCTIONS);
  if (slots.layerCalls) checkKeys(`${where}, layerCalls`, slots.layerCalls, FUSED_LAYERS);
  return slots;
}

import type { KernelBackend, Optimizer } from '@tensorflow/tfjs-core';
import { checkKeys } from '../options/check-keys.js';
import type { Defer } from '../tensor/deferred-tensor.js';
import { AccError } from '../errors.js';
import {
  FUSED_FUNCTIONS,
  FUSED_LAYERS,
  type FusedFunctions,
  type FusedLayerCalls,
} from './fused-functions.js';
import type { PrecisionLayer, RandomLayer, TensorBridge, FixedResults } from './kernel-layer.js';
import type { ListMath } from './list-math.js';
import type { LocalShards, LocalShardsOptions } from './local-shards.js';
import type { DivideMemory } from './memory-parts.js';
import type { Recorder } from './recording.js';
import type { StateLayer } from './state-layer.js';

/**
 * The slots that a backend implements itself. Every slot may be absent. Its results are then
 * computed portably, by tfjs's operators and the typed arrays of `dataSync`, or refused if no
 * portable way exists.
 */
export interface KernelLayerSlots {
  /** The device of tensors. Absent: `cpu`. */
  readonly device?: string;
  /** Reads and writes tensors. Absent: `dataSync` and `tf.tensor`. */
  readonly bridge?: TensorBridge;
  /** Absent: tfjs's operators, tensor by tensor. */
  readonly lists?: ListMath;
  /** Absent: typed arrays. Only tfjs's own element types exist then. */
  readonly state?: StateLayer;
  /**
   * Functions of `@acc/kernels`. If the slot or a function in it is absent, tfjs's operators
   * compute the function.
   */
  readonly functions?: FusedFunctions;
  /**
   * Layers of prepared models. If the slot or a class in it is absent, tfjs's own `call` computes
   * the layer.
   */
  readonly layerCalls?: FusedLayerCalls;
  /**
   * Optimizer steps. Absent: the optimizer's own `applyGradients`. See `KernelLayer.fusedApply`.
   */
  fusedApply?(optimizer: Optimizer): Optimizer['applyGradients'] | undefined;
  /** Absent: strategies that shard parameters are refused. */
  readonly defer?: Defer;
  /**
   * Absent: in stages 1 and 2 of `fsdp`, a rank holds its own elements twice: in the whole parameters
   * and in its shard.
   */
  readonly divideMemory?: DivideMemory;
  /** Absent: `accelerator.compile` is refused. */
  readonly recorder?: Recorder;
  /** Absent: mixed precision is refused. */
  readonly precision?: PrecisionLayer;
  /** Absent: the backend does not measure its memory. */
  readonly resetPeakMemory?: () => void;
  /** Absent: random numbers are drawn in JavaScript. */
  readonly random?: RandomLayer;
  /** Absent: `deterministic` is refused. */
  fixResults?(): FixedResults;
  /** Absent: tensor parallelism is refused. */
  localShards?(options: LocalShardsOptions): LocalShards;
}

const SLOTS = [
  ...['device', 'bridge', 'lists', 'state', 'functions', 'layerCalls', 'fusedApply'],
  ...['defer', 'divideMemory', 'resetPeakMemory', 'recorder', 'precision', 'random', 'fixResults'],
  'localShards',
];

export interface KernelLayerRegistration<Backend extends KernelBackend = KernelBackend> {
  /** The name of the backend in tfjs, as for `tf.setBackend`. */
  readonly backendName: string;
  /**
   * The slots of `backend`. It is called once for each backend object that tfjs creates, on first
   * use. The result is kept, so slots that change must be getters within their objects.
   */
  slotsOf(backend: Backend): KernelLayerSlots;
}

const registrations = new Map<string, KernelLayerRegistration<never>>();
let changes = 0;

/**
 * Makes `@acc/core` use the own slots of a tfjs backend whenever that backend is active. A backend
 * without a registration is used portably. A registration takes effect at once, also while the
 * backend is active. The same object may be registered again.
 *
 * @returns A function that undoes the registration.
 * @throws AccError `ACC_KERNEL_LAYER_TAKEN` if the backend has another registration.
 */
export function registerKernelLayer<Backend extends KernelBackend>(
  registration: KernelLayerRegistration<Backend>,
): () => void {
  const { backendName } = registration;
  checkKeys('registerKernelLayer', registration, ['backendName', 'slotsOf']);
  const other = registrations.get(backendName);
  if (other !== undefined && other !== registration) {
    throw new AccError('ACC_KERNEL_LAYER_TAKEN', `The backend '${backendName}' already has a kernel layer.`, {
      help: 'Register one kernel layer for each backend. registerKernelLayer returns a function that removes the layer again.',
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

/** The registration of the backend. */
export function registeredKernelLayer(backendName: string): KernelLayerRegistration<never> | undefined {
  return registrations.get(backendName);
}

/** A number that changes whenever a registration is made or undone. */
export function kernelLayerChanges(): number {
  return changes;
}

/**
 * Returns `slots` after checking their names.
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

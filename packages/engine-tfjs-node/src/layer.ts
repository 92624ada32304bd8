import type { KernelLayerRegistration, KernelLayerSlots } from '@acc/contract';
import type { TensorflowBackend } from './backend.js';
import { bridgeOn } from './bridge.js';
import { deferOn } from './deferred.js';
import { listsOn } from './lists.js';
import { Operators } from './operators.js';
import { fusedApplyOn } from './optimizers/fused-apply.js';
import { freeWithData } from './own-data.js';
import { precisionOn } from './precision.js';
import { Registers } from './registers.js';
import { acceptShortTensors } from './short-tensors.js';

const known = new WeakMap<TensorflowBackend, KernelLayerSlots>();

/**
 * The kernel layer of tfjs-node's backend `tensorflow`. It takes the binding from the backend and
 * never loads tfjs-node itself.
 */
export const TENSORFLOW_LAYER: KernelLayerRegistration<TensorflowBackend> = {
  backendName: 'tensorflow',
  slotsOf(backend) {
    // A backend of that name by somebody else is used portably.
    if (!hasBinding(backend)) return {};
    const slots = known.get(backend) ?? slotsWith(new Operators(backend));
    known.set(backend, slots);
    return slots;
  },
};

function hasBinding({ binding }: Partial<TensorflowBackend>): boolean {
  return typeof binding?.executeOp === 'function';
}

/** Called once for each backend, since it patches the backend. */
function slotsWith(operators: Operators): KernelLayerSlots {
  const registers = new Registers(operators);
  freeWithData(operators);
  acceptShortTensors(operators);
  return {
    device: operators.backend.isUsingGpuDevice ? 'cuda:0' : 'cpu',
    bridge: bridgeOn(operators),
    lists: listsOn(operators, registers),
    fusedApply: fusedApplyOn(operators, registers),
    precision: precisionOn(operators),
    defer: deferOn(operators),
  };
}

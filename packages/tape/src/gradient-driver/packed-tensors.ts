import { keep, util, Variable, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, type RecordedAction, type PackedTensor, type TapeHooks } from '@acc/contract';
import { hasValuesOnly } from '@acc/kernels';
import { reviveWith, type TapeNode } from '@acc/tfjs-internals';
import { inputOf } from './tape.js';

export type Pack = NonNullable<TapeHooks['pack']>;
/** Runs an action of hooks on tensors that they borrow. Returns the tensors that they make. */
export type RunHook = (inputs: readonly Tensor[], action: RecordedAction) => readonly (Tensor | null)[];

/** Replaces a tensor until its values are needed. */
export interface StandIn {
  /** Restores the values of the tensor. */
  restore(): void;
  dispose(): void;
}

/** The replacements of the saved tensors of nodes whose gradients were not computed yet. */
const standIns = new WeakMap<TapeNode, StandIn[]>();

/**
 * Packs the tensors that an operator has saved with the first of `packs` that accepts them. The
 * tensors are disposed until {@link unpackSaved}.
 */
export function packSaved(node: TapeNode, packs: readonly Pack[], runHook: RunHook): void {
  for (const tensor of node.saved ?? []) {
    if (tensor.isDisposed || !hasValuesOnly(tensor)) continue;
    const standIn = pack(tensor, variableOf(node, tensor), packs, runHook);
    if (!standIn) continue;
    tensor.dispose();
    addStandIns(node, [standIn]);
  }
}

/**
 * Adds `made` to the replacements that are freed or restored with the saved tensors of the node.
 */
export function addStandIns(node: TapeNode, created: readonly StandIn[]): void {
  if (created.length > 0) standIns.set(node, [...(standIns.get(node) ?? []), ...created]);
}

/**
 * Packs the values of `tensor`, which the caller then disposes. Undefined if no hook accepts it.
 */
export function pack(
  tensor: Tensor,
  variable: Variable | undefined,
  packs: readonly Pack[],
  runHook: RunHook,
): StandIn | undefined {
  /** The packed tensor of this run, or of the current replay. */
  let packed: PackedTensor | undefined;
  let isFirst = true;
  let isTaken = false;
  runHook([tensor], ([given]) => {
    packed = undefined;
    for (const each of packs) packed ??= each(given!, variable);
    if (isFirst) isTaken = packed !== undefined;
    // A replay repeats the recorded decision, even if the hook now decides otherwise.
    else if (isTaken) packed ??= asItIs(given!);
    else packed?.dispose();
    isFirst = false;
    return [];
  });
  if (!isTaken) return undefined;
  return {
    restore() {
      const [value] = runHook([], () => {
        const unpacked = packed!.unpack();
        packed!.dispose();
        return [unpacked];
      });
      requireSame(tensor, value!);
      reviveWith(tensor, value!);
      value!.dispose();
    },
    dispose() {
      runHook([], () => {
        packed!.dispose();
        return [];
      });
    },
  };
}

function asItIs(tensor: Tensor): PackedTensor {
  const held = keep(tensor.clone());
  return { unpack: () => held.clone(), dispose: () => held.dispose() };
}

function variableOf({ inputs }: TapeNode, { dataId }: Tensor): Variable | undefined {
  for (const name of Object.keys(inputs)) {
    const input = inputOf(inputs, name);
    if (input instanceof Variable && input.dataId === dataId) return input;
  }
  return undefined;
}

function requireSame(packed: Tensor, unpacked: Tensor): void {
  if (util.arraysEqual(packed.shape, unpacked.shape) && packed.dtype === unpacked.dtype) return;
  const describe = ({ dtype, shape }: Tensor) => `${dtype}[${shape.join()}]`;
  throw new AccError(
    'ACC_UNPACKED_DIFFERS',
    `pack was given the saved tensor ${describe(packed)}, but unpack returned ${describe(unpacked)}.`,
    { help: 'Make unpack return a tensor with the shape and dtype of the tensor that pack was given.' },
  );
}

/** Restores the values of the saved tensors of a node. */
export function unpackSaved(node: TapeNode): void {
  const created = standIns.get(node);
  if (!created) return;
  standIns.delete(node);
  created.forEach((standIn, i) => {
    try {
      standIn.restore();
    } catch (error) {
      for (const other of created.slice(i + 1)) other.dispose();
      throw error;
    }
  });
}

/** Frees the tensors that an operator has saved. */
export function freeSaved(node: TapeNode): void {
  for (const tensor of node.saved ?? []) tensor.dispose();
  const created = standIns.get(node);
  if (!created) return;
  standIns.delete(node);
  for (const standIn of created) standIn.dispose();
}

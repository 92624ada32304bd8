import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { NativeTensor } from '@acc/contract';
import { MemoryFlag, memoryFlags, operator } from '@acc/native';
import type { AccBackend } from '../../backend.js';
import type { SlotList, Update } from '../slots.js';
import { Temporaries, type TensorList } from './foreach.js';

const contiguous = operator('aten::contiguous');
const clone = operator('aten::clone');
const toCopy = operator('aten::_to_copy');

const ROW_MAJOR = 0;
const OWN_BLOCK = MemoryFlag.contiguous | MemoryFlag.exclusive;

/** What native calls take at once: a call's arguments and results have a limit. */
export const MAX_LIST = 1000;

/** Native tensors of a step in lists of one length: float32, row-major, and for what is written exclusively owned. */
export interface StepPart {
  /** The variables' names. */
  readonly names: readonly string[];
  readonly weights: TensorList;
  readonly grads: TensorList;
  /** A list for each kind of state. */
  readonly state: readonly TensorList[];
}

/** One step's native tensors, valid until the next tfjs call; to be disposed. */
export interface NativeStep extends Disposable {
  /** At most {@link MAX_LIST} variables each; variables without elements are left out. */
  readonly parts: readonly StepPart[];
  /** The variables given as `scalars`. */
  readonly scalars: TensorList;
}

/** Those variables of a part whose names pass. */
export function selected(part: StepPart, passes: (name: string) => boolean): StepPart {
  const flags = part.names.map(passes);
  if (flags.every((flag) => flag)) return part;
  return mapPart(part, (list) => list.filter((_, i) => flags[i]));
}

function mapPart({ names, weights, grads, state }: StepPart, map: <T>(list: readonly T[]) => T[]): StepPart {
  return { names: map(names), weights: map(weights), grads: map(grads), state: state.map(map) };
}

/**
 * Makes ready to write the variables of `updates` and their state in place. One whose memory others see, or that is not
 * row-major, gets a copy of its own first, so that what others hold keeps its values.
 *
 * @param kinds The kinds of state there are.
 * @param scalars Further variables that will be written.
 * @returns Undefined, with nothing changed, when the step is not one for lists: another dtype than float32, shapes that
 * are to be broadcast, or a variable that occurs twice.
 */
export function openStep(
  backend: AccBackend,
  updates: readonly Update[],
  kinds: readonly SlotList[],
  scalars: readonly Variable[],
): NativeStep | undefined {
  if (!updates.every((update) => fits(backend, update, kinds)) || hasRepeats(updates)) return undefined;
  // libtorch's fused kernels are not made for tensors without elements.
  const filled = updates.filter(({ variable }) => variable.size > 0);
  const written = [...filled.map(({ variable }) => variable)];
  kinds.forEach((_, k) => written.push(...filled.map(({ state }) => state[k]!)));
  written.push(...scalars);

  const targets = written.map((variable) => backend.nativeToWrite(variable));
  const given = filled.map(({ grad }) => backend.native(grad));
  const flags = memoryFlags([...targets.filter((target) => target !== undefined), ...given]);
  let at = 0;
  const owned = targets.map((target, i) =>
    target && flags[at++] === OWN_BLOCK ? target : makeOwn(backend, written[i]!),
  );
  const made: NativeTensor[] = [];
  const grads = given.map((grad, i) => {
    const isRowMajor = (flags[at++]! & MemoryFlag.contiguous) !== 0;
    const block = rowMajorFloats(grad, isRowMajor, isVariable(filled[i]!.grad));
    if (block !== grad) made.push(block);
    return block;
  });

  const count = filled.length;
  const block = (k: number) => owned.slice(k * count, (k + 1) * count);
  const whole: StepPart = {
    names: filled.map(({ variable }) => variable.name),
    weights: block(0),
    grads,
    state: kinds.map((_, k) => block(k + 1)),
  };
  const temporaries = new Temporaries(made);
  return {
    parts: partsOf(whole),
    scalars: owned.slice((kinds.length + 1) * count),
    [Symbol.dispose]: () => temporaries[Symbol.dispose](),
  };
}

function partsOf(whole: StepPart): StepPart[] {
  const parts: StepPart[] = [];
  for (let start = 0; start < whole.weights.length; start += MAX_LIST) {
    parts.push(mapPart(whole, (list) => list.slice(start, start + MAX_LIST)));
  }
  return parts;
}

/** A variable's own data may be its gradient, and is about to change. */
export function isVariable(tensor: Tensor): boolean {
  return (tensor as Partial<Variable>).assign !== undefined;
}

/** `grad` itself, or a tensor to be disposed. */
function rowMajorFloats(grad: NativeTensor, isRowMajor: boolean, mustCopy: boolean): NativeTensor {
  if (grad.dtype !== 'float32') return toCopy(grad, 'float32', null, null, null, false, ROW_MAJOR);
  if (mustCopy) return clone(grad, ROW_MAJOR);
  return isRowMajor ? grad : contiguous(grad);
}

/** Gives the variable data that nothing else refers to. */
function makeOwn(backend: AccBackend, variable: Variable): NativeTensor {
  const copy = clone(backend.native(variable), ROW_MAJOR);
  const holder = backend.tensorOf(copy, variable.dtype);
  variable.assign(holder);
  holder.dispose();
  return copy;
}

/** The fused kernels trust their caller with shapes and dtypes. */
function fits(backend: AccBackend, { variable, grad, state }: Update, kinds: readonly SlotList[]): boolean {
  return (
    isFloat32(backend, variable) &&
    grad.dtype === 'float32' &&
    hasShape(grad, variable.shape) &&
    kinds.every(
      ({ shapeFor }, k) =>
        isFloat32(backend, state[k]!) && hasShape(state[k]!, shapeFor?.(variable) ?? variable.shape),
    )
  );
}

/** Whether `x` is float32 for tfjs and libtorch: 16-bit floats may stand behind tfjs's float32. */
function isFloat32(backend: AccBackend, x: Tensor): boolean {
  return x.dtype === 'float32' && backend.native(x).dtype === 'float32';
}

function hasShape(x: Tensor, shape: readonly number[]): boolean {
  return x.shape.length === shape.length && x.shape.every((size, dim) => size === shape[dim]);
}

function hasRepeats(updates: readonly Update[]): boolean {
  return new Set(updates.map(({ variable }) => variable)).size < updates.length;
}

import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { NativeTensor } from '@acc/contract';
import { MemoryFlag, memoryFlags, operator } from '@acc/native';
import type { AccBackend } from '../../backend.js';
import { stateTypeOf, type SlotList, type Update } from '../slots.js';
import { Temporaries, type TensorList } from '../../list-math/foreach.js';
import { isVariable, MAX_LIST } from '../../list-math/list-members.js';

const contiguous = operator('aten::contiguous');
const clone = operator('aten::clone');
const toCopy = operator('aten::_to_copy');

const ROW_MAJOR = 0;
const OWN_BLOCK = MemoryFlag.contiguous | MemoryFlag.exclusive;

/**
 * Native tensors of a step in lists of equal length. All are row-major, and float32 but for packed state;
 * tensors that the step writes share their memory with no other tensor.
 */
export interface StepChunk {
  /** The variables' names. */
  readonly names: readonly string[];
  readonly weights: TensorList;
  readonly grads: TensorList;
  /** One list for each kind of state. */
  readonly state: readonly TensorList[];
}

/** The native tensors of one step, valid until the next tfjs call. Caller disposes. */
export interface NativeStep extends Disposable {
  /** Chunks of at most {@link MAX_LIST} variables each. Variables without elements are omitted. */
  readonly chunks: readonly StepChunk[];
  /** The native tensors of the variables passed as `scalars`. */
  readonly scalars: TensorList;
}

/** The variables of a chunk whose names pass the test. */
export function selected(chunk: StepChunk, passes: (name: string) => boolean): StepChunk {
  const flags = chunk.names.map(passes);
  if (flags.every((flag) => flag)) return chunk;
  return mapChunk(chunk, (list) => list.filter((_, i) => flags[i]));
}

/** The variables of a chunk with packed state, and the others. */
export function splitPacked(chunk: StepChunk): { readonly packed: StepChunk; readonly others: StepChunk } {
  const isPacked = chunk.names.map((_, i) => chunk.state[0]?.[i]!.dtype === 'int32');
  const part = (of: boolean) => mapChunk(chunk, (list) => list.filter((_, i) => isPacked[i] === of));
  return { packed: part(true), others: part(false) };
}

function mapChunk(
  { names, weights, grads, state }: StepChunk,
  map: <T>(list: readonly T[]) => T[],
): StepChunk {
  return { names: map(names), weights: map(weights), grads: map(grads), state: state.map(map) };
}

/**
 * Prepares the variables of `updates` and their state for writing in place. A variable that shares
 * its memory, or that is not row-major, first gets a copy of its own, so that other holders keep
 * their values.
 *
 * @param kinds The kinds of state.
 * @param scalars Further variables that the step writes.
 * @returns Undefined, with nothing changed, if the step cannot run on lists: a dtype other than
 * float32, shapes that need broadcasting, or a variable that occurs twice.
 */
export function openStep(
  backend: AccBackend,
  updates: readonly Update[],
  kinds: readonly SlotList[],
  scalars: readonly Variable[],
): NativeStep | undefined {
  // libtorch's fused kernels do not support tensors without elements.
  const filled = updates.filter(({ variable }) => variable.size > 0);
  if (!filled.every((update) => fits(backend, update, kinds)) || hasRepeats(updates)) return undefined;
  const written = filled.map(({ variable }) => variable);
  for (let k = 0; k < kinds.length; k++) for (const { state } of filled) written.push(state[k]!);
  for (const scalar of scalars) written.push(scalar);

  const targets = written.map((variable) => backend.nativeToWrite(variable));
  const given = filled.map(({ grad }) => backend.native(grad));
  const flags = memoryFlags([...targets.filter((target) => target !== undefined), ...given]);
  let at = 0;
  const owned = targets.map((target, i) =>
    target && flags[at++] === OWN_BLOCK ? target : makeOwn(backend, written[i]!),
  );
  const created: NativeTensor[] = [];
  const grads = given.map((grad, i) => {
    const isRowMajor = (flags[at++]! & MemoryFlag.contiguous) !== 0;
    const block = rowMajorFloats(grad, isRowMajor, isVariable(filled[i]!.grad));
    if (block !== grad) created.push(block);
    return block;
  });

  const count = filled.length;
  const block = (k: number) => owned.slice(k * count, (k + 1) * count);
  const full: StepChunk = {
    names: filled.map(({ variable }) => variable.name),
    weights: block(0),
    grads,
    state: kinds.map((_, k) => block(k + 1)),
  };
  const temporaries = new Temporaries(created);
  return {
    chunks: chunksOf(full),
    scalars: owned.slice((kinds.length + 1) * count),
    [Symbol.dispose]: () => temporaries[Symbol.dispose](),
  };
}

function chunksOf(full: StepChunk): StepChunk[] {
  if (full.weights.length > 0 && full.weights.length <= MAX_LIST) return [full];
  const chunks: StepChunk[] = [];
  for (let start = 0; start < full.weights.length; start += MAX_LIST) {
    chunks.push(mapChunk(full, (list) => list.slice(start, start + MAX_LIST)));
  }
  return chunks;
}

/** Returns `grad` itself, or a new tensor that the caller disposes. */
function rowMajorFloats(grad: NativeTensor, isRowMajor: boolean, mustCopy: boolean): NativeTensor {
  if (grad.dtype !== 'float32') return toCopy(grad, 'float32', null, null, null, false, ROW_MAJOR);
  if (mustCopy) return clone(grad, ROW_MAJOR);
  return isRowMajor ? grad : contiguous(grad);
}

/** Gives the variable a copy of its data that nothing else refers to. */
function makeOwn(backend: AccBackend, variable: Variable): NativeTensor {
  const copy = clone(backend.native(variable), ROW_MAJOR);
  const holder = backend.tensorOf(copy, variable.dtype);
  variable.assign(holder);
  holder.dispose();
  return copy;
}

/** Checks shapes and dtypes, because the fused kernels do not check them. */
function fits(backend: AccBackend, { variable, grad, state }: Update, kinds: readonly SlotList[]): boolean {
  return (
    isStored(backend, variable, 'float32') &&
    grad.dtype === 'float32' &&
    hasShape(grad, variable.shape) &&
    kinds.every((kind, k) => {
      const { dtype, shape } = stateTypeOf(kind, variable);
      return isStored(backend, state[k]!, dtype) && hasShape(state[k]!, shape);
    })
  );
}

/**
 * Whether `x` has that dtype in both tfjs and libtorch: a tensor that tfjs sees as float32 may hold
 * 16-bit floats.
 */
function isStored(backend: AccBackend, x: Tensor, dtype: 'float32' | 'int32'): boolean {
  return x.dtype === dtype && backend.native(x).dtype === dtype;
}

function hasShape(x: Tensor, shape: readonly number[]): boolean {
  const own = x.shape;
  if (own.length !== shape.length) return false;
  for (let dim = 0; dim < own.length; dim++) if (own[dim] !== shape[dim]) return false;
  return true;
}

function hasRepeats(updates: readonly Update[]): boolean {
  return new Set(updates.map(({ variable }) => variable)).size < updates.length;
}

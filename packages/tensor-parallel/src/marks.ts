import type { Variable } from '@tensorflow/tfjs-core';
import { AccError, checkKeys } from '@acc/contract';

/** Along which dim a variable is cut. */
export interface Mark {
  readonly dim: number;
  /** How many matrices lie side by side along the dim; each of them is cut. */
  readonly times: number;
  /** What must not be cut in two. */
  readonly units?: readonly { readonly name: string; readonly count: number }[];
  /** Whether the variable stays whole if its size is not a multiple of the number of ranks. */
  readonly isOptional?: boolean;
}

export interface CutOptions {
  /** The dim to cut. A negative number counts from the end. */
  readonly dim: number;
  /** The axis of the mesh over which the variable is cut. */
  readonly axis: 'tensor';
  /**
   * The number of equal matrices side by side along the dim, of which each is cut: 3 if one matrix
   * makes queries, keys and values. Default 1.
   */
  readonly times?: number;
}

const marks = new WeakMap<Variable, Mark>();

/** How a variable is to be cut. Undefined: it is whole on every rank. */
export function markOf(variable: Variable): Mark | undefined {
  return marks.get(variable);
}

/** @param mark Undefined: the variable stays whole. */
export function setMark(variable: Variable, mark: Mark | undefined): void {
  if (mark) marks.set(variable, mark);
  else marks.delete(variable);
}

/**
 * States that a variable of a plain program is cut along a dim over the ranks of the mesh's axis
 * `tensor`. Call it before `prepare`; it takes effect there. What is computed from the variable
 * follows: kernels run on this rank's piece, and add up or gather over ranks where they need to.
 * Without that axis it has no effect. Returns the variable.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT`, `ACC_UNKNOWN_OPTION`.
 */
export function cut<V extends Variable>(variable: V, options: CutOptions): V {
  checkKeys('cut', options, ['dim', 'axis', 'times']);
  const { dim, axis, times = 1 } = options;
  const { rank } = variable;
  const isDim = Number.isInteger(dim) && dim >= -rank && dim < rank;
  if (!isDim) throw invalid(`dim is ${dim}, but '${variable.name}' has ${rank} dims`);
  if ((axis as string) !== 'tensor') throw invalid(`axis is '${axis}'; expected 'tensor'`);
  if (!Number.isInteger(times) || times < 1) throw invalid(`times is ${times}; expected a positive integer`);
  if (variable.dtype !== 'float32')
    throw invalid(`'${variable.name}' is ${variable.dtype}; expected float32`);
  setMark(variable, { dim: dim < 0 ? dim + rank : dim, times });
  return variable;
}

function invalid(problem: string): AccError {
  return new AccError('ACC_INVALID_ARGUMENT', `cut: ${problem}.`, {
    help: "Call it as cut(variable, { dim: 1, axis: 'tensor' }).",
  });
}

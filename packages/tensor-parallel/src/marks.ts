import type { Variable } from '@tensorflow/tfjs-core';
import { AccError, checkKeys, cutOf, isPrepared, markCut, type Cut } from '@acc/contract';
import { tooLate } from './too-late.js';

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

/** How a variable is cut over the axis `tensor`. */
export interface Mark extends Cut {
  readonly axis: 'tensor';
}

/** How a variable is to be cut. Undefined: it is whole on every rank. */
export function markOf(variable: Variable): Mark | undefined {
  const mark = cutOf(variable);
  return mark?.axis === 'tensor' ? (mark as Mark) : undefined;
}

/**
 * States how a variable is cut. Undefined: it is whole.
 *
 * @throws AccError `ACC_TENSOR_PARALLEL_PLAN` for a prepared variable that is cut another way.
 */
export function mark(caller: string, variable: Variable, given: Cut | undefined): void {
  const before = markOf(variable);
  const isSame = before?.dim === given?.dim && (before?.times ?? 1) === (given?.times ?? 1);
  if (isPrepared(variable) && !isSame) throw tooLate(caller, variable.name);
  if (before || given) markCut(variable, given);
}

/** Leaves a variable whole on every rank. */
export function unmark(variable: Variable): void {
  if (markOf(variable)) mark('parallelize', variable, undefined);
}

/**
 * States that a variable of a plain program is cut along a dim over the ranks of the mesh's axis
 * `tensor`. Call it before `prepare`; it takes effect there. What is computed from the variable
 * follows: kernels run on this rank's shard, and add up or gather over ranks where they need to.
 * Without that axis it has no effect, which a warning tells on several ranks unless
 * `mesh.tensor` is 1. Returns the variable.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT`, `ACC_UNKNOWN_OPTION`, `ACC_TENSOR_PARALLEL_PLAN` after
 * `prepare`.
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
  mark('cut', variable, { axis, dim: dim < 0 ? dim + rank : dim, times });
  return variable;
}

function invalid(problem: string): AccError {
  return new AccError('ACC_INVALID_ARGUMENT', `cut: ${problem}.`, {
    help: "Call it as cut(variable, { dim: 1, axis: 'tensor' }).",
  });
}

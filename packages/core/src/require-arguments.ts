import { Tensor } from '@tensorflow/tfjs-core';
import { AccError, type RunStatus } from '@acc/contract';
import { describe } from '@acc/tape';

/**
 * @param args The arguments of a right call.
 * @throws AccError `ACC_INVALID_ARGUMENT` if `value` is not a function.
 */
export function requireFunction(method: string, value: unknown, args = '() => …'): void {
  if (typeof value === 'function') return;
  throw new AccError('ACC_INVALID_ARGUMENT', `${method} needs a function, not ${describe(value)}.`, {
    help: `Write ${method}(${args}).`,
  });
}

/**
 * @param args The arguments of a right call.
 * @throws AccError `ACC_INVALID_ARGUMENT` if `value` is not a tensor.
 */
export function requireTensor(method: string, value: unknown, args: string): void {
  if (value instanceof Tensor) return;
  throw new AccError('ACC_INVALID_ARGUMENT', `${method} needs a tensor, not ${describe(value)}.`, {
    help: `Write ${method}(${args}).`,
  });
}

const RUN_STATUSES: readonly RunStatus[] = ['completed', 'failed', 'aborted'];

/** @throws AccError `ACC_INVALID_ARGUMENT` if `value` is not the status of a run. */
export function requireRunStatus(method: string, value: unknown): void {
  if (RUN_STATUSES.includes(value as RunStatus)) return;
  throw new AccError('ACC_INVALID_ARGUMENT', `${method} needs the status of a run, not ${describe(value)}.`, {
    help: `Give one of ${RUN_STATUSES.join(', ')}, or no argument for completed.`,
  });
}

/** @throws AccError `ACC_INVALID_ARGUMENT` if `value` is not a path. */
export function requirePath(method: string, value: unknown): void {
  if (typeof value === 'string') return;
  throw new AccError('ACC_INVALID_ARGUMENT', `${method} needs a path, not ${describe(value)}.`, {
    help: "Give the path of a folder, for example 'runs/best'.",
  });
}

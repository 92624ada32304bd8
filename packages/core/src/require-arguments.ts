import { Tensor } from '@tensorflow/tfjs-core';
import { AccError, isRecord, showValue, type RunStatus } from '@acc/contract';
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

/** The numbers that a method takes. */
export interface NumberRule {
  /** The rest of the sentence "expected …". */
  readonly expected: string;
  /** The next step for a value that is not one of them. */
  readonly help: string;
  isRight(value: number): boolean;
}

/** @throws AccError `ACC_INVALID_ARGUMENT` if `value`, the argument `name` of a method, is not a right number. */
export function requireNumber(method: string, name: string, value: unknown, rule: NumberRule): void {
  if (typeof value === 'number' && rule.isRight(value)) return;
  const isQuoted = typeof value === 'string' && value.trim() !== '' && rule.isRight(Number(value));
  throw new AccError(
    'ACC_INVALID_ARGUMENT',
    `${method}: ${name} is ${showValue(value)}; expected ${rule.expected}.`,
    { help: isQuoted ? `Write ${value} without quotes.` : rule.help, details: { value } },
  );
}

/** @throws AccError `ACC_INVALID_ARGUMENT` if `grads` is not a record of tensors, by the names of variables. */
export function requireGradients(method: string, grads: unknown): void {
  const isTensors = isRecord(grads) && !(grads instanceof Tensor);
  if (isTensors && Object.values(grads).every((grad) => grad == null || grad instanceof Tensor)) return;
  const given = isTensors && 'grads' in grads ? 'a record with the member grads' : describe(grads);
  throw new AccError('ACC_INVALID_ARGUMENT', `${method} needs gradients by name, not ${given}.`, {
    help: `Write const { value, grads } = accelerator.backward(loss), then ${method}(grads, 1).`,
  });
}

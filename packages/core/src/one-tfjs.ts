import { engine, Optimizer, scalar, Variable } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { copiesOfCore } from '#platform/tfjs-copies';

/**
 * Copies of tfjs-core share the engine of the copy that was imported first, so most programs with two
 * copies seem to work. But what an Accelerator changes in classes, it changes in our copy's.
 *
 * @throws AccError `ACC_TFJS_COPIES` if the engine is of another copy than ours.
 */
export function requireOneTfjs(): void {
  const value = scalar(0);
  const variable = engine().makeVariable(value, false);
  const { constructor } = variable;
  variable.dispose();
  value.dispose();
  if (constructor !== Variable) throw twoCopies(copiesOfCore());
}

/** @throws AccError `ACC_TFJS_COPIES` for an optimizer of a second copy of tfjs-core. */
export function requireOurOptimizer(optimizer: object): void {
  // For instanceof, tfjs asks for methods only.
  if (Object.prototype.isPrototypeOf.call(Optimizer.prototype, optimizer)) return;
  const copies = copiesOfCore();
  // One copy: it is an optimizer of the program's own.
  if (copies.length > 1) throw twoCopies(copies);
}

function twoCopies(folders: readonly string[]): AccError {
  const list = folders.length > 0 ? [':', ...folders.map((folder) => `\n  ${folder}`)] : ['.'];
  return new AccError(
    'ACC_TFJS_COPIES',
    `The program and @acc/core import different copies of @tensorflow/tfjs-core${list.join('')}`,
    { help: 'Keep one: npm dedupe. `npm ls @tensorflow/tfjs-core` shows which package brings the other.' },
  );
}

import { engine, Optimizer, scalar, Variable } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { copiesOfCore } from '#platform/tfjs-copies';

/**
 * Copies of tfjs-core share the engine of the copy that was imported first, so most programs with two
 * copies seem to work. But what an Accelerator changes in classes, it changes in our copy's.
 *
 * @throws AccError `ACC_TFJS_COPIES` if the program has another copy than we, and imported it first.
 */
export function requireOneTfjs(): void {
  const value = scalar(0);
  try {
    // A name of its own leaves the numbers by which tfjs names variables as they are.
    const variable = engine().makeVariable(value, false, 'acc: a variable of the engine');
    const { constructor } = variable;
    variable.dispose();
    if (constructor === Variable) return;
  } finally {
    value.dispose();
  }
  const copies = copiesOfCore();
  // One: the modules of the process were loaded anew, as some test runners do.
  if (copies.length !== 1) throw twoCopies(copies);
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
    {
      help: 'Keep one version: `npm ls @tensorflow/tfjs-core` shows which packages bring them, and npm dedupe joins equal ones.',
    },
  );
}

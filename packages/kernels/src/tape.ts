import { AccError } from '@acc/contract';
import { engineInternals, gradientDepth } from '@acc/tfjs-internals';

/**
 * Whether tfjs computes a gradient of the running operators. In a gradient function: whether its
 * result is differentiated again.
 */
export const isTaped = (): boolean => gradientDepth() > 0;

const numbers = new WeakMap<object, number>();
let tapes = 0;

/** A number for the running tape. Undefined outside of tapes, and within a tape inside of another. */
export function currentTape(): number | undefined {
  const { activeTape } = engineInternals().state;
  if (!activeTape || gradientDepth() !== 1) return undefined;
  let number = numbers.get(activeTape);
  if (number === undefined) numbers.set(activeTape, (number = ++tapes));
  return number;
}

/**
 * Call this in a gradient function that tfjs cannot differentiate.
 *
 * @throws AccError `ACC_NO_SECOND_GRADIENT` within another gradient computation.
 */
export function requireFirstOrder(kernelName: string): void {
  if (!isTaped()) return;
  throw new AccError('ACC_NO_SECOND_GRADIENT', `The gradient of ${kernelName} cannot be differentiated.`, {
    help: 'For second derivatives, use tf.grad inside tf.grad around the whole function, or a model that is not prepared.',
    details: { kernelName },
  });
}

/** Runs a gradient computation while tfjs walks another tape, and restores that tape afterwards. */
export function onSeparateTape<T>(compute: () => T): T {
  const { state } = engineInternals();
  const { activeTape } = state;
  try {
    return compute();
  } finally {
    state.activeTape = activeTape;
  }
}

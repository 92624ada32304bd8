import { AccError } from '@acc/contract';
import { engineInternals, gradientDepth } from '@acc/tfjs-internals';

/** Whether tfjs computes a gradient of what runs now; of a gradient function, whether its result is differentiated again. */
export const isTaped = (): boolean => gradientDepth() > 0;

/**
 * For gradient functions that tfjs can't differentiate.
 *
 * @throws AccError `ACC_NO_SECOND_GRADIENT` within another gradient computation.
 */
export function requireFirstOrder(kernelName: string): void {
  if (!isTaped()) return;
  throw new AccError('ACC_NO_SECOND_GRADIENT', `${kernelName} has no gradient of its gradient.`, {
    help: 'Take second derivatives of a whole function by tf.grad inside tf.grad, or of a model that was not prepared.',
    details: { kernelName },
  });
}

/** Runs a gradient computation within the walk over another tape, which it would otherwise take away. */
export function onOwnTape<T>(compute: () => T): T {
  const { state } = engineInternals();
  const { activeTape } = state;
  try {
    return compute();
  } finally {
    state.activeTape = activeTape;
  }
}

import type { Scalar } from '@tensorflow/tfjs-core';
import { AccError } from '../errors.js';
import { finallyAfter } from '../async/finally-after.js';

let current: number | Scalar | undefined = 1;
let reads = 0;

/**
 * The gradient that the running backward pass began with, at the loss of the training: the loss scale
 * times the weight of this rank's rows. A layer that adds a term to that loss multiplies the gradient
 * of the term by it. 1 where nobody says otherwise, as in tfjs itself; 0 in a gradient computation
 * inside another one, whose result is not the loss.
 *
 * @throws AccError `ACC_LOSS_SEED_UNKNOWN` where the pass begins inside the model.
 */
export function lossSeed(): number | Scalar {
  reads++;
  if (current !== undefined) return current;
  throw new AccError(
    'ACC_LOSS_SEED_UNKNOWN',
    'A layer adds a term to the loss, but this backward pass begins at outputs of the model. How the loss is weighted is not known.',
    {
      help: 'Turn the terms off (for example moe({ balanceLoss: 0, zLoss: 0 })), or train without a pipeline.',
    },
  );
}

/** How often {@link lossSeed} was called. It grows in a pass in which layers add terms to the loss. */
export const lossSeedReads = (): number => reads;

/** Runs a backward pass. @param seed Undefined if it is not known. */
export function withLossSeed<T>(seed: number | Scalar | undefined, pass: () => T): T {
  const before = current;
  current = seed;
  return finallyAfter(pass, () => (current = before));
}

import { AccError, engineAdvice } from '@acc/contract';

/** tfjs's message for an operator that the active backend does not have. */
const MISSING = /^Kernel '(\w+)' not registered for backend '(\w+)'/;

/**
 * Converts tfjs's error for a kernel that the backend lacks to `ACC_KERNEL_MISSING`, which says how to
 * train all the same. tfjs's backend `wasm`, for example, has no gradient of a convolution with
 * respect to its filter. Returns other errors unchanged.
 */
export function explainMissingKernel(error: unknown): unknown {
  const [, kernel, backendName] = (error instanceof Error && MISSING.exec(error.message)) || [];
  if (kernel === undefined) return error;
  return new AccError(
    'ACC_KERNEL_MISSING',
    `The tfjs backend '${backendName}' cannot compute this training step: it has no kernel ${kernel}.`,
    {
      help: engineAdvice('choose a tfjs backend that has this kernel'),
      cause: error,
      details: { kernel, backendName },
    },
  );
}

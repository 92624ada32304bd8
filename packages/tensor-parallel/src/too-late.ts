import { AccError } from '@acc/contract';

/**
 * @param caller The function that was called too late.
 * @param name Of the first variable or layer on which it would have no effect.
 */
export function tooLate(caller: string, name: string): AccError {
  return new AccError(
    'ACC_TENSOR_PARALLEL_PLAN',
    `${caller}: '${name}' is prepared already, so that this would have no effect on it.`,
    {
      help: `Call ${caller} before accelerator.prepare, which divides weights over the ranks of the axis tensor.`,
      details: { name },
    },
  );
}

import { AccError, engineAdvice } from '@acc/contract';

/** The error of mixed precision on a backend without 16-bit tensors: `ACC_PRECISION_UNSUPPORTED`. */
export function float32Only(backendName: string): AccError {
  return new AccError(
    'ACC_PRECISION_UNSUPPORTED',
    `The tfjs backend '${backendName}' computes in float32 only.`,
    { help: engineAdvice("give mixedPrecision 'no'") },
  );
}

import { AccError, engineAdvice, type Plugin } from '@acc/contract';
import { resolveAmpOptions, type AmpOptions } from './options.js';

/**
 * Sets how many bits products and convolutions of float32 tensors use, from the option
 * `float32Precision`. Without it the backend's own setting applies.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`; `ACC_PRECISION_UNSUPPORTED` when it
 * is attached to a device that does not support it.
 */
export function float32Precision(options?: AmpOptions): Plugin {
  const { float32Precision: precision } = resolveAmpOptions(options);
  return {
    name: 'float32Precision',
    attach({ kernels }) {
      if (kernels.precision) return kernels.precision.setFloat32Precision(precision);
      if (precision === undefined || precision === 'ieee') return;
      throw new AccError(
        'ACC_PRECISION_UNSUPPORTED',
        `The tfjs backend '${kernels.backendName}' computes in float32 only.`,
        { help: engineAdvice('leave amp.float32Precision out') },
      );
    },
  };
}

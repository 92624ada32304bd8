import { AccError, type PrecisionPlugin, type StrategyContext } from '@acc/contract';
import { Autocast, type LowerDtype } from './autocast.js';
import { listsWith, resolveAmpOptions, type AmpOptions } from './options.js';

/**
 * Mixed precision (Micikevicius et al. 2018): products, convolutions and attention on 16-bit tensors, forward and backward;
 * sums, losses and normalisations in float32; weights, their gradients and the optimizer in float32.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`; `ACC_PRECISION_UNSUPPORTED` when it is attached to a backend
 * without 16-bit types.
 */
export function amp(dtype: LowerDtype, options?: AmpOptions): PrecisionPlugin {
  const lists = listsWith(resolveAmpOptions(options));
  let autocast: Autocast | undefined;
  return {
    name: 'amp',
    attach({ kernels }: StrategyContext) {
      if (!kernels.precision) {
        throw new AccError(
          'ACC_PRECISION_UNSUPPORTED',
          `The tfjs backend '${kernels.backendName}' computes in float32 only.`,
          { help: "Use engine 'acc' (`npx acc setup` installs libtorch), or mixedPrecision 'no'." },
        );
      }
      autocast = new Autocast(kernels.precision, dtype, lists);
    },
    forward: (compute) => autocast!.forward(compute),
    backward: (compute) => autocast!.backward(compute),
    gradient(grad) {
      const wide = autocast!.inFloat32(grad);
      if (wide !== grad) grad.dispose();
      return wide;
    },
    autocast: (compute, { enabled = true } = {}) =>
      enabled ? autocast!.forward(compute) : autocast!.off(compute),
  };
}

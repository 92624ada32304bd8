import { AccError, type PrecisionPlugin, type StrategyContext } from '@acc/contract';
import { Autocast, type LowerDtype } from './autocast.js';
import { float32Only } from './float32-only.js';
import { LossScaler, stateSchema } from './loss-scaler.js';
import { EightBits } from './eight-bits.js';
import { fp8 } from './fp8.js';
import { int8 } from './int8.js';
import { listsWith, resolveAmpOptions, type AmpOptions, type ResolvedAmpOptions } from './options.js';

/**
 * Mixed precision (Micikevicius et al. 2018). Products, convolutions and attention compute on
 * 16-bit tensors, forward and backward. Sums, losses and normalisations compute in float32.
 * Weights, their gradients and the optimizer stay in float32. With `int8` and `fp8`, the 16-bit type is bfloat16,
 * and products of weights round both factors to 8 bits.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`; `ACC_PRECISION_UNSUPPORTED` when it
 * is attached to a backend without this 16-bit type.
 */
export function amp(
  precision: LowerDtype | 'int8' | 'fp8',
  options?: AmpOptions,
  { seed = 0 }: { readonly seed?: number } = {},
): PrecisionPlugin {
  const dtype = precision === 'int8' || precision === 'fp8' ? 'bfloat16' : precision;
  const resolved = resolveAmpOptions(options);
  const lists = listsWith(resolved);
  // bfloat16 has the range of float32, so it needs no loss scale.
  const scaler = dtype === 'float16' ? new LossScaler(resolved.lossScale) : undefined;
  const eightBits = eightBitsOf(precision, resolved, seed);
  let autocast: Autocast | undefined;
  return {
    name: 'amp',
    attach(context: StrategyContext) {
      const { kernels } = context;
      if (!kernels.precision) throw float32Only(kernels.backendName);
      const problem = kernels.precision.lowerProblem?.(dtype);
      if (problem !== undefined) {
        throw new AccError('ACC_PRECISION_UNSUPPORTED', problem, {
          help: "Give another mixedPrecision: 'bf16' or 'no'.",
          details: { dtype, backendName: kernels.backendName },
        });
      }
      eightBits?.attach(context);
      autocast = new Autocast(() => kernels.precision, dtype, lists, eightBits?.products);
    },
    ...eightBits?.hooks,
    forward: (compute) => autocast!.forward(compute),
    capture: () => autocast!.capture(),
    backward: (compute) => autocast!.backward(compute),
    gradient(grad) {
      const wide = autocast!.inFloat32(grad);
      if (wide !== grad) grad.dispose();
      return wide;
    },
    ...(scaler && {
      lossScale: () => scaler.scale,
      settle(_grads, { allFinite }) {
        // The training step has already divided gradients by the scale.
        const isFinite = allFinite();
        scaler.update(isFinite);
        return isFinite;
      },
      rejoin: (collective) => scaler.rejoin(collective),
    }),
    getState: () => ({ lossScale: scaler?.getState() ?? null, ...eightBits?.getState() }),
    setState(state) {
      const { lossScale, amaxes } = stateSchema(state);
      if (amaxes) eightBits?.setState(amaxes);
      if (scaler && lossScale) scaler.setState(lossScale);
    },
    autocast: (compute, { enabled = true } = {}) =>
      synchronous(enabled ? autocast!.forward(compute) : autocast!.off(compute)),
  };
}

function eightBitsOf(
  precision: LowerDtype | 'int8' | 'fp8',
  { exclude, fp8: recipe }: ResolvedAmpOptions,
  seed: number,
): EightBits | undefined {
  if (precision === 'int8') return new EightBits(exclude, int8(seed));
  return precision === 'fp8' ? new EightBits(exclude, fp8(recipe)) : undefined;
}

/**
 * Rejects a promise. Code after the first `await` of a function would run in a different precision.
 */
function synchronous<T>(result: T): T {
  if (typeof (result as { then?: unknown } | null | undefined)?.then !== 'function') return result;
  throw new AccError(
    'ACC_AUTOCAST_ASYNC',
    'The function that autocast runs must not be asynchronous, as in tf.tidy.',
    {
      help: 'Await before or after autocast, and put only computation into the function.',
    },
  );
}

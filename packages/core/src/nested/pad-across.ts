import { clone, concat, fill, tidy, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, checkKeys, showValue, type Collective } from '@acc/contract';

/** Options of `Accelerator.padAcrossProcesses`. */
export interface PadOptions {
  /** The dimension in which sizes differ. A negative one counts from the last. Default 0. */
  readonly dim?: number;
  /** The padding value. Default 0. */
  readonly padIndex?: number;
  /** Whether the padding comes first. Default false. */
  readonly padFirst?: boolean;
}

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function requirePadOptions(options: PadOptions): void {
  checkKeys('padAcrossProcesses', options, ['dim', 'padIndex', 'padFirst']);
  const { dim = 0, padIndex = 0 } = options;
  if (Number.isInteger(dim) && typeof padIndex === 'number') return;
  throw new AccError(
    'ACC_INVALID_OPTION',
    `padAcrossProcesses: dim is ${showValue(dim)} and padIndex is ${showValue(padIndex)}.`,
    {
      help: 'Give an integer as dim and a number as padIndex.',
    },
  );
}

/**
 * Pads `x` to the largest size that any rank has in that dimension. Returns a clone if no padding
 * is needed or if `x` lacks the dimension.
 */
export function padAcross(x: Tensor, options: PadOptions, collective: Collective): Tensor {
  const { dim = 0, padIndex = 0, padFirst = false } = options;
  const axis = dim < 0 ? x.rank + dim : dim;
  const size = x.shape[axis];
  const most = Math.max(...collective.allGatherObject(size ?? 0));
  if (size === undefined || size === most) return clone(x);
  return tidy(() => {
    const shape = x.shape.map((own, i) => (i === axis ? most - size : own));
    const filling = fill(shape, padIndex, x.dtype as 'float32');
    return concat(padFirst ? [filling, x] : [x, filling], axis);
  });
}

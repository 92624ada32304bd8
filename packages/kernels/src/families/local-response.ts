import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';

const average = operator('aten::avg_pool2d');
const reshape = operator('aten::reshape');
const square = operator('aten::square');
const multiplyScalar = operatorInPlace('aten::mul_.Scalar');
const addScalar = operatorInPlace('aten::add_.Scalar');

/** tfjs's attributes of local response normalization. */
export interface LocalResponse {
  /** The number of channels on each side of the middle one. */
  readonly depthRadius: number;
  readonly bias: number;
  readonly alpha: number;
  readonly beta: number;
}

/**
 * `bias + alpha · Σ x²` over each channel's neighbours. `x` is `[..., channels]`. Caller disposes.
 */
export function responseNorm(x: NativeTensor, { depthRadius, bias, alpha }: LocalResponse): NativeTensor {
  using squares = square(x);
  const norm = neighbourSum(squares, depthRadius);
  multiplyScalar(norm, alpha);
  addScalar(norm, bias);
  return norm;
}

/**
 * For each channel, the sum over the channels at most `radius` away. `x` is `[..., channels]`.
 * Caller disposes.
 */
export function neighbourSum(x: NativeTensor, radius: number): NativeTensor {
  const channels = x.shape.at(-1)!;
  const rows = x.shape.slice(0, -1).reduce((product, size) => product * size, 1);
  // The rows become the batch, because only the batch may be empty.
  using images = reshape(x, [rows, 1, 1, channels]);
  using sums = average(images, [1, 2 * radius + 1], [1, 1], [0, radius], false, true, 1);
  return reshape(sums, x.shape);
}

import { operator, type Tensor } from '@acc/native';
import { reshape } from './operators.js';

const bitAnd = operator('aten::bitwise_and.Scalar');
const bitOr = operator('aten::bitwise_or.Tensor');
const shiftLeft = operator('aten::bitwise_left_shift.Tensor_Scalar');
const shiftRight = operator('aten::bitwise_right_shift.Tensor_Scalar');
const slice = operator('aten::slice.Tensor');
const stack = operator('aten::stack');

/**
 * Numbers from 0 to 15, uint8 `[rows, columns]`, two in a byte `[rows, columns / 2]`: the one of the even
 * column in the upper four bits, as bitsandbytes has them. The caller disposes the result.
 */
export function packNibbles(numbers: Tensor): Tensor {
  using even = slice(numbers, 1, 0, null, 2);
  using odd = slice(numbers, 1, 1, null, 2);
  using upper = shiftLeft(even, 4);
  return bitOr(upper, odd);
}

/** The inverse of {@link packNibbles}. The caller disposes the result. */
export function unpackNibbles(bytes: Tensor): Tensor {
  using even = shiftRight(bytes, 4);
  using odd = bitAnd(bytes, 15);
  using pairs = stack([even, odd], -1);
  return reshape(pairs, [bytes.shape[0]!, 2 * bytes.shape[1]!]);
}

import type { TensorInfo } from '@tensorflow/tfjs-core';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import { constantOf } from '../host-constants.js';

const power = operator('aten::pow.Tensor_Scalar');

/** The exponent, if it is known on the host and the power has the shape and dtype of `x`. */
export function constantExponent(x: TensorInfo, exponent: TensorInfo): number | undefined {
  if (x.dtype !== 'float32' || exponent.shape.length > x.shape.length) return undefined;
  return constantOf(exponent);
}

/**
 * x to a power that is known on the host. libtorch computes the powers 2, 3, 0.5, -0.5, -1 and -2
 * with products and roots, which takes a tenth of the time. Unlike IEEE 754's power, a root of
 * -Infinity is NaN, and a root of -0 has its sign. Caller disposes.
 */
export const toConstantPower = (x: NativeTensor, exponent: number): NativeTensor => power(x, exponent);

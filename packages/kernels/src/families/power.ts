import { operator, type Tensor as NativeTensor } from '@acc/native';

const power = operator('aten::pow.Tensor_Scalar');

/**
 * x to a power that is known on the host. libtorch computes the powers 2, 3, 0.5, -0.5, -1 and -2
 * with products and roots, which takes a tenth of the time. Caller disposes.
 */
export const toConstantPower = (x: NativeTensor, exponent: number): NativeTensor => power(x, exponent);

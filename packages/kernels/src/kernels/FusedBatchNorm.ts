import { FusedBatchNorm, type FusedBatchNormAttrs, type FusedBatchNormInputs } from '@tensorflow/tfjs-core';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';
import { wrapElements } from '../families/conversion.js';
import { kernel } from '../kernel.js';

const addScalar = operator('aten::add.Scalar');
const inverseRoot = operatorInPlace('aten::rsqrt_');
const multiply = operator('aten::mul.Tensor');
const addProduct = operator('aten::addcmul');
const negative = operator('aten::neg');

const DEFAULT_EPSILON = 0.001;

/**
 * `(x − mean) · scale / √(variance + ε) + offset`, as one multiply-add over `x`, like libtorch's
 * own kernel for CPUs. The other inputs broadcast to `x`.
 */
export const fusedBatchNorm = kernel<FusedBatchNormInputs, FusedBatchNormAttrs>(
  FusedBatchNorm,
  ({ inputs, attrs: { varianceEpsilon }, backend }) => {
    const { x, mean, variance } = inputs;
    // tfjs's types declare these two as required, but they may be missing.
    const { scale, offset } = inputs as Partial<typeof inputs>;
    using inverse = addScalar(backend.native(variance), varianceEpsilon ?? DEFAULT_EPSILON);
    inverseRoot(inverse);
    using scaled = scale && multiply(inverse, backend.native(scale));
    const factor = scaled ?? inverse;
    using summand = summandOf(backend.native(mean), factor, offset && backend.native(offset));
    return wrapElements(backend, addProduct(summand, backend.native(x), factor), x.dtype);
  },
);

/** `offset − mean · factor`. Caller disposes. */
function summandOf(mean: NativeTensor, factor: NativeTensor, offset: NativeTensor | undefined): NativeTensor {
  if (offset) return addProduct(offset, mean, factor, -1);
  using product = multiply(mean, factor);
  return negative(product);
}

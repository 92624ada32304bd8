import { LRNGrad, type LRNGradAttrs, type LRNGradInputs } from '@tensorflow/tfjs-core';
import { operator, operatorInPlace } from '@acc/native';
import { neighbourSum, responseNorm } from '../families/local-response.js';
import { kernel } from '../kernel.js';

const multiply = operator('aten::mul.Tensor');
const divideBy = operatorInPlace('aten::div_.Tensor');
const power = operatorInPlace('aten::pow_.Scalar');
const addProduct = operator('aten::addcmul');

/**
 * `dy · n^−beta − 2 · alpha · beta · x · Σ dy · y / n`, where n is the {@link responseNorm} of x,
 * and the sum is over neighbouring channels.
 */
export const lrnGrad = kernel<LRNGradInputs, LRNGradAttrs>(
  LRNGrad,
  ({ inputs: { x, y, dy }, attrs, backend }) => {
    const { depthRadius, alpha, beta } = attrs;
    const images = backend.native(x);
    const gradient = backend.native(dy);
    using norm = responseNorm(images, attrs);
    using shares = multiply(gradient, backend.native(y));
    divideBy(shares, norm);
    using spread = neighbourSum(shares, depthRadius);
    power(norm, -beta);
    using direct = multiply(gradient, norm);
    return backend.wrap(addProduct(direct, images, spread, -2 * alpha * beta), x.dtype);
  },
);

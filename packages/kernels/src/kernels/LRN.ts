import { LRN, type LRNAttrs, type LRNInputs } from '@tensorflow/tfjs-core';
import { operator, operatorInPlace } from '@acc/native';
import { responseNorm } from '../families/local-response.js';
import { kernel } from '../kernel.js';

const multiply = operator('aten::mul.Tensor');
const power = operatorInPlace('aten::pow_.Scalar');

/** `x · (bias + alpha · Σ x²)^−beta`, where the sum is over neighbouring channels. */
export const lrn = kernel<LRNInputs, LRNAttrs>(LRN, ({ inputs: { x }, attrs, backend }) => {
  const images = backend.native(x);
  using factor = responseNorm(images, attrs);
  power(factor, -attrs.beta);
  return backend.wrap(multiply(images, factor), x.dtype);
});

import { EluGrad, type EluGradInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { applyBinary, FLOATS } from '../families/elementwise.js';
import { kernel } from '../kernel.js';

const clampMax = operator('aten::clamp_max');
const addProduct = operator('aten::addcmul');

/**
 * `dy * (1 + min(y, 0))` from elu's result `y`. Unlike libtorch's `elu_backward`, it propagates a
 * NaN in `y`.
 */
export const eluGrad = kernel<EluGradInputs>(EluGrad, ({ inputs: { dy, y }, backend }) =>
  applyBinary(
    backend,
    dy,
    y,
    (grad, result) => {
      using below = clampMax(result, 0);
      return addProduct(grad, grad, below);
    },
    FLOATS,
    'float32',
  ),
);

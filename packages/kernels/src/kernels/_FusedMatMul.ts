import { _FusedMatMul, type _FusedMatMulAttrs, type _FusedMatMulInputs } from '@tensorflow/tfjs-core';
import { isLinear } from '../families/activation.js';
import { matMul } from '../families/matmul.js';
import { resultWithoutValues } from '../gradients/saved-shapes.js';
import { kernel } from '../kernel.js';

export const fusedMatMul = kernel<_FusedMatMulInputs, _FusedMatMulAttrs>(
  _FusedMatMul,
  ({ inputs, attrs, backend }) => {
    const result = matMul(backend, inputs, attrs);
    return isLinear(attrs.activation) ? resultWithoutValues(result) : result;
  },
);

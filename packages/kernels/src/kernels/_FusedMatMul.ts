import { _FusedMatMul, type _FusedMatMulAttrs, type _FusedMatMulInputs } from '@tensorflow/tfjs-core';
import { matMul } from '../families/matmul.js';
import { kernel } from '../kernel.js';

export const fusedMatMul = kernel<_FusedMatMulInputs, _FusedMatMulAttrs>(
  _FusedMatMul,
  ({ inputs, attrs, backend }) => matMul(backend, inputs, attrs),
);

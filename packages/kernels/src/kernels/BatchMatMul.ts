import { BatchMatMul, type BatchMatMulAttrs, type BatchMatMulInputs } from '@tensorflow/tfjs-core';
import { matMul } from '../families/matmul.js';
import { kernel } from '../kernel.js';

export const batchMatMul = kernel<BatchMatMulInputs, BatchMatMulAttrs>(
  BatchMatMul,
  ({ inputs, attrs, backend }) => matMul(backend, inputs, attrs),
);

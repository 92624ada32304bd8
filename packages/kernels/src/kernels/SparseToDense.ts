import { SparseToDense, type SparseToDenseAttrs, type SparseToDenseInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { scatter } from '../families/scatter.js';
import { kernelWithStrings } from '../families/strings.js';

const repeat = operator('aten::repeat');

export const sparseToDense = kernelWithStrings<SparseToDenseInputs, SparseToDenseAttrs>(
  SparseToDense,
  'sparseValues',
  ({ inputs: { sparseIndices, sparseValues, defaultValue }, attrs: { outputShape }, backend }) =>
    scatter(backend, SparseToDense, sparseIndices, sparseValues, outputShape, (size) =>
      repeat(backend.native(defaultValue), size),
    ),
);

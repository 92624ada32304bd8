import { Transpose, type TransposeAttrs, type TransposeInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { sameData } from '../families/same-data.js';
import { kernel } from '../kernel.js';

const permute = operator('aten::permute');

/** Returns a view with other strides. */
export const transpose = kernel<TransposeInputs, TransposeAttrs>(
  Transpose,
  ({ inputs: { x }, attrs: { perm }, backend }) => {
    if (perm.every((dim, i) => dim === i)) return sameData(backend, x);
    return backend.wrap(permute(backend.native(x), perm), x.dtype, backend.keptElements(x));
  },
);

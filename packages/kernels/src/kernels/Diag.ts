import { Diag, type DiagInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { kernel } from '../kernel.js';

const diagEmbed = operator('aten::diag_embed');
const reshape = operator('aten::reshape');

/** Places `x` of any shape on the diagonal of a tensor of shape `[...x.shape, ...x.shape]`. */
export const diag = kernel<DiagInputs>(Diag, ({ inputs: { x }, backend }) => {
  using flat = reshape(backend.native(x), [-1]);
  using matrix = diagEmbed(flat);
  return backend.wrap(reshape(matrix, [...x.shape, ...x.shape]), x.dtype);
});

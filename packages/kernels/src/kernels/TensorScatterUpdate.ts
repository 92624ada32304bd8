import { TensorScatterUpdate, type TensorScatterUpdateInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { scatter } from '../families/scatter.js';
import { kernel } from '../kernel.js';

const clone = operator('aten::clone');
const reshape = operator('aten::reshape');

export const tensorScatterUpdate = kernel<TensorScatterUpdateInputs>(
  TensorScatterUpdate,
  ({ inputs: { tensor, indices, updates }, backend }) =>
    scatter(backend, TensorScatterUpdate, indices, updates, tensor.shape, (size) => {
      using slices = reshape(backend.native(tensor), size);
      return clone(slices);
    }),
);

import { ScatterNd, type ScatterNdAttrs, type ScatterNdInputs } from '@tensorflow/tfjs-core';
import { operator, operatorInPlace } from '@acc/native';
import { scatter } from '../families/scatter.js';
import { kernel } from '../kernel.js';

const addInto = operatorInPlace('aten::index_add_');
const zeros = operator('aten::zeros');

/** Updates of one place add up. */
export const scatterNd = kernel<ScatterNdInputs, ScatterNdAttrs>(
  ScatterNd,
  ({ inputs: { indices, updates }, attrs: { shape }, backend }) =>
    scatter(backend, ScatterNd, indices, updates, shape, (size, like) => zeros(size, like.dtype), addInto),
);

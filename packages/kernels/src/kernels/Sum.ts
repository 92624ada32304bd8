import { Sum, util, type SumAttrs, type SumInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { kernel } from '../kernel.js';

const sumOver = operator('aten::sum.dim_IntList');

/** Integers and booleans add up as int32, floats as float32. */
export const sum = kernel<SumInputs, SumAttrs>(
  Sum,
  ({ inputs: { x }, attrs: { axis, keepDims }, backend }) => {
    const axes = util.parseAxisParam(axis, x.shape);
    const dtype = x.dtype === 'bool' ? 'int32' : x.dtype;
    // An empty list of dims would mean all of them to libtorch, none to tfjs.
    if (axes.length === 0) return backend.wrap(backend.native(x).alias(), dtype);
    return backend.wrap(sumOver(backend.native(x), axes, keepDims), dtype);
  },
);

import { Reverse, util, type ReverseAttrs, type ReverseInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { sameData } from '../families/same-data.js';
import { kernel } from '../kernel.js';

const flip = operator('aten::flip');

export const reverse = kernel<ReverseInputs, ReverseAttrs>(
  Reverse,
  ({ inputs: { x }, attrs: { dims }, backend }) => {
    const axes = util.parseAxisParam(dims, x.shape);
    if (axes.length === 0) return sameData(backend, x);
    return backend.wrap(flip(backend.native(x), axes), x.dtype);
  },
);

import { OnesLike, type OnesLikeInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { kernel } from '../kernel.js';

const ones = operator('aten::ones_like');

export const onesLike = kernel<OnesLikeInputs>(OnesLike, ({ inputs: { x }, backend }) =>
  backend.wrap(ones(backend.native(x)), x.dtype),
);

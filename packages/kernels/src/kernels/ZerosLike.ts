import { ZerosLike, type ZerosLikeInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { kernel } from '../kernel.js';

const zeros = operator('aten::zeros_like');

export const zerosLike = kernel<ZerosLikeInputs>(ZerosLike, ({ inputs: { x }, backend }) =>
  backend.wrap(zeros(backend.native(x)), x.dtype),
);

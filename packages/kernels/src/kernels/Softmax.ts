import { Softmax, type SoftmaxAttrs, type SoftmaxInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { kernel } from '../kernel.js';

const softmaxOf = operator('aten::_softmax');

export const softmax = kernel<SoftmaxInputs, SoftmaxAttrs>(
  Softmax,
  ({ inputs: { logits }, attrs: { dim }, backend }) =>
    backend.wrap(softmaxOf(backend.native(logits), dim, false), logits.dtype),
);

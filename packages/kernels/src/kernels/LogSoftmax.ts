import { LogSoftmax, type LogSoftmaxAttrs, type LogSoftmaxInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { kernel } from '../kernel.js';

const logSoftmaxOf = operator('aten::_log_softmax');

export const logSoftmax = kernel<LogSoftmaxInputs, LogSoftmaxAttrs>(
  LogSoftmax,
  ({ inputs: { logits }, attrs: { axis }, backend }) =>
    backend.wrap(logSoftmaxOf(backend.native(logits), axis, false), 'float32'),
);

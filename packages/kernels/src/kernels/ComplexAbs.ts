import { ComplexAbs, type ComplexAbsInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { kernel } from '../kernel.js';

const abs = operator('aten::abs');

export const complexAbs = kernel<ComplexAbsInputs>(ComplexAbs, ({ inputs: { x }, backend }) =>
  backend.wrap(abs(backend.native(x)), 'float32'),
);

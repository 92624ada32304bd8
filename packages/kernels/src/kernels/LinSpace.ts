import { LinSpace, type LinSpaceAttrs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { kernel } from '../kernel.js';

const linspace = operator('aten::linspace');

export const linSpace = kernel<object, LinSpaceAttrs>(LinSpace, ({ attrs: { start, stop, num }, backend }) =>
  backend.wrap(linspace(start, stop, num, 'float32'), 'float32'),
);

import { Imag, type ImagInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { kernel } from '../kernel.js';

const imagPart = operator('aten::imag');
const zerosLike = operator('aten::zeros_like');

/** Returns a view; zeros if the input is real. */
export const imag = kernel<ImagInputs>(Imag, ({ inputs: { input }, backend }) => {
  const native = backend.native(input);
  return backend.wrap(input.dtype === 'complex64' ? imagPart(native) : zerosLike(native), 'float32');
});

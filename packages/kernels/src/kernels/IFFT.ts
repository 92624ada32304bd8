import { IFFT, type IFFTInputs } from '@tensorflow/tfjs-core';
import { fourierTransform } from '../families/fourier.js';
import { kernel } from '../kernel.js';

export const ifft = kernel<IFFTInputs>(IFFT, ({ inputs: { input }, backend }) =>
  fourierTransform(backend, input, { inverse: true }),
);

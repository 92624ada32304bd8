import { FFT, type FFTInputs } from '@tensorflow/tfjs-core';
import { fourierTransform } from '../families/fourier.js';
import { kernel } from '../kernel.js';

export const fft = kernel<FFTInputs>(FFT, ({ inputs: { input }, backend }) =>
  fourierTransform(backend, input, { inverse: false }),
);

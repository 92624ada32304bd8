import { FlipLeftRight, type FlipLeftRightInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { kernel } from '../kernel.js';

const flip = operator('aten::flip');

const WIDTH = 2;

/** Reverses the rows of images `[batch, height, width, channels]`. */
export const flipLeftRight = kernel<FlipLeftRightInputs>(FlipLeftRight, ({ inputs: { image }, backend }) =>
  backend.wrap(flip(backend.native(image), [WIDTH]), image.dtype),
);

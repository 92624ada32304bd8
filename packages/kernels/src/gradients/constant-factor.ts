import type { GradConfig } from '@tensorflow/tfjs-core';
import { isConstantOnTape } from '../host-constants.js';
import { withoutValues } from './saved-shapes.js';

/** The gradient of a product. It does not save what is multiplied by a number. */
export const productGradient = (own: GradConfig): GradConfig =>
  withoutValues({ ...own }, ([a, b]) =>
    isConstantOnTape(b!) ? 'first' : isConstantOnTape(a!) ? 'last' : 'none',
  );

/** The gradient of a quotient. It does not save what is divided by a number. */
export const quotientGradient = (own: GradConfig): GradConfig =>
  withoutValues({ ...own }, ([, b]) => (isConstantOnTape(b!) ? 'first' : 'none'));

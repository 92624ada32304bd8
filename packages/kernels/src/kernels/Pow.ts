import { Pow, type BinaryInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { applyBinary, NUMBERS } from '../families/elementwise.js';
import { constantExponent, constantPower } from '../families/power.js';
import { kernel } from '../kernel.js';

const power = operator('aten::pow.Tensor_Tensor');

/**
 * Float powers follow IEEE 754, where `1 ** NaN` is 1; integer powers wrap around. Constant
 * exponents: see `toConstantPower`.
 */
export const pow = kernel<BinaryInputs>(Pow, ({ inputs: { a, b }, backend }) => {
  const exponent = constantExponent(a, b);
  if (exponent === undefined) return applyBinary(backend, a, b, power, NUMBERS);
  return constantPower(backend, a, exponent);
});

import { Pow, type BinaryInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { applyBinary, NUMBERS } from '../families/elementwise.js';
import { toConstantPower } from '../families/power.js';
import { constantOf } from '../host-constants.js';
import { kernel } from '../kernel.js';

const power = operator('aten::pow.Tensor_Tensor');

/** Float powers follow IEEE 754, where `1 ** NaN` is 1; integer powers wrap around. */
export const pow = kernel<BinaryInputs>(Pow, ({ inputs: { a, b }, backend }) => {
  const exponent = a.dtype === 'float32' ? constantOf(b) : undefined;
  if (exponent === undefined) return applyBinary(backend, a, b, power, NUMBERS);
  return backend.wrap(toConstantPower(backend.native(a), exponent), 'float32');
});

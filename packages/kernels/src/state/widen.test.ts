import { expect, it } from 'vitest';
import { operator, tensorFrom } from '@acc/native';
import { widenBfloat16, widenFloat16 } from './widen.js';

const castTo = operator('aten::_to_copy');

it.each([
  ['float16', widenFloat16],
  ['bfloat16', widenBfloat16],
] as const)('every bit pattern of %s widens as in libtorch', (dtype, widen) => {
  const bits = Uint16Array.from({ length: 2 ** 16 }, (_, i) => i);
  using narrow = tensorFrom(bits, dtype, [bits.length]);
  using wide = castTo(narrow, 'float32');
  expect(widen(bits)).toEqual(wide.read());
});

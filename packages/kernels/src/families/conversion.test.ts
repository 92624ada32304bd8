import { cast, complex, tensor } from '@tensorflow/tfjs-core';
import { describe, it } from 'vitest';
import { expectSameAsCpu } from '../testing/compare.js';

const DTYPES = ['float32', 'int32', 'bool', 'complex64'] as const;
const FLOATS = [NaN, Infinity, -Infinity, 0, -0.9, 0.9, 2.5, -2.5, 3e9, -3e9, 1e30, 2 ** 32 * 3 + 1024];

describe('casts', () => {
  it.each(DTYPES)('to %s are as on cpu', async (dtype) => {
    await expectSameAsCpu(() => [
      cast(tensor(FLOATS), dtype),
      cast(tensor([0, 1, -1, 2 ** 31 - 1, -(2 ** 31)], [5], 'int32'), dtype),
      cast(tensor([0, 1], [2], 'bool'), dtype),
      cast(complex(FLOATS, FLOATS), dtype),
      cast(tensor([], [0, 3]), dtype),
      cast(tensor(-1.5), dtype),
    ]);
  });
});

import * as fc from 'fast-check';
import { engine, equal, tensor } from '@tensorflow/tfjs-core';
import { describe, it } from 'vitest';
import { expectSameAsCpu } from '../testing/compare.js';

const KERNELS = ['Equal', 'NotEqual', 'Greater', 'GreaterEqual', 'Less', 'LessEqual'];
const texts = (length: number) =>
  fc.array(
    fc.oneof(fc.constantFrom('', 'a', 'ä', 'aa', '😀'), fc.string({ unit: 'grapheme', maxLength: 3 })),
    {
      minLength: length,
      maxLength: length,
    },
  );

describe('comparisons of strings', () => {
  it.each(KERNELS)('%s is as on cpu', async (name) => {
    await fc.assert(
      fc.asyncProperty(texts(6), texts(3), (a, b) =>
        expectSameAsCpu(() =>
          engine().runKernel(name, { a: tensor(a, [2, 3], 'string'), b: tensor(b, [3], 'string') }),
        ),
      ),
      { numRuns: 20 },
    );
  });

  it('compares with a scalar and with an empty tensor', async () => {
    await expectSameAsCpu(() => [
      equal(tensor(['a', 'b'], [2], 'string'), tensor('b', [], 'string')),
      equal(tensor([], [0], 'string'), tensor('b', [], 'string')),
    ]);
  });
});

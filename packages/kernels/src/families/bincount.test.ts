import * as fc from 'fast-check';
import { bincount, denseBincount, setBackend, tensor1d, tensor2d } from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { isAccError } from '@acc/contract';
import { expectSameAsCpu } from '../testing/compare.js';

const RUNS = { numRuns: 20 };
const list = (length: number, max: number) =>
  fc.array(fc.integer({ min: 0, max }), { minLength: length, maxLength: length });

describe('bincount', () => {
  it.each(['float32', 'int32'] as const)('adds %s weights as on cpu', async (dtype) => {
    await fc.assert(
      fc.asyncProperty(list(10, 7), list(10, 9), fc.integer({ min: 0, max: 9 }), (x, weights, size) =>
        expectSameAsCpu(() => [
          bincount(tensor1d(x, 'int32'), tensor1d(weights, dtype), size),
          bincount(tensor1d(x, 'int32'), tensor1d([], dtype), size),
          denseBincount(tensor1d(x, 'int32'), tensor1d(weights, dtype), size),
        ]),
      ),
      RUNS,
    );
  });

  it('counts the rows of a matrix as on cpu', async () => {
    await fc.assert(
      fc.asyncProperty(list(12, 6), list(12, 9), fc.boolean(), (x, weights, isBinary) =>
        expectSameAsCpu(() => [
          denseBincount(tensor2d(x, [3, 4], 'int32'), tensor2d(weights, [3, 4]), 5, isBinary),
          denseBincount(tensor2d(x, [3, 4], 'int32'), [], 5, isBinary),
          denseBincount(tensor2d([], [0, 4], 'int32'), [], 5, isBinary),
          denseBincount(tensor2d([], [2, 0], 'int32'), [], 5, isBinary),
        ]),
      ),
      RUNS,
    );
  });

  it('ignores values far beyond the last bin', async () => {
    await expectSameAsCpu(() => bincount(tensor1d([1, 2 ** 31 - 1], 'int32'), tensor1d([]), 3));
  });

  it('keeps binary output for vectors', async () => {
    await setBackend('acc');
    const counts = denseBincount(tensor1d([1, 1, 2], 'int32'), tensor1d([]), 4, true);
    expect([...counts.dataSync()]).toEqual([0, 1, 1, 0]);
    counts.dispose();
  });

  it('refuses negative values', async () => {
    await setBackend('acc');
    expect(() => bincount(tensor1d([1, -1], 'int32'), tensor1d([]), 3)).toThrowError(
      expect.toSatisfy((error) => isAccError(error, 'ACC_INVALID_ARGUMENT')),
    );
  });
});

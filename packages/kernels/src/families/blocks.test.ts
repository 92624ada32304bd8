import * as fc from 'fast-check';
import { engine, type NamedAttrMap, type Tensor } from '@tensorflow/tfjs-core';
import { describe, it } from 'vitest';
import { expectSameAsCpu } from '../testing/compare.js';
import { elements, make, tensorOf, type RealDtype } from '../testing/values.js';

const run = (name: string, x: Tensor, attrs: object): Tensor =>
  engine().runKernel(name, { x }, attrs as NamedAttrMap);

const DTYPES: readonly RealDtype[] = ['float32', 'int32', 'bool'];

async function expectSame(name: string, shape: readonly number[], attrs: object): Promise<void> {
  // The cpu backend stores the values of DepthToSpace as floats, for every dtype.
  for (const dtype of name === 'DepthToSpace' ? (['float32'] as const) : DTYPES) {
    await fc.assert(
      fc.asyncProperty(tensorOf(dtype, shape, elements(dtype)), (x) =>
        expectSameAsCpu(() => run(name, make(x), attrs)),
      ),
      { numRuns: 30 },
    );
  }
}

describe('blocks of images', () => {
  it.each([
    [[2, 2, 3, 4], 2],
    [[1, 1, 1, 18], 3],
    [[2, 1, 2, 3], 1],
    [[0, 2, 2, 4], 2],
  ])('DepthToSpace of %j by %i is as on cpu', (shape, blockSize) =>
    expectSame('DepthToSpace', shape, { blockSize, dataFormat: 'NHWC' }),
  );

  it.each([
    [
      [2, 4, 4, 3],
      [2, 2],
      [
        [0, 0],
        [0, 0],
      ],
    ],
    [
      [1, 3, 5, 1],
      [2, 3],
      [
        [1, 0],
        [0, 1],
      ],
    ],
    [[2, 5], [3], [[1, 0]]],
    [
      [0, 2, 2, 1],
      [2, 2],
      [
        [0, 0],
        [0, 0],
      ],
    ],
  ])('SpaceToBatchND of %j by %j with paddings %j is as on cpu', (shape, blockShape, paddings) =>
    expectSame('SpaceToBatchND', shape, { blockShape, paddings }),
  );

  it.each([
    [
      [8, 2, 2, 3],
      [2, 2],
      [
        [0, 0],
        [0, 0],
      ],
    ],
    [
      [6, 2, 2, 1],
      [2, 3],
      [
        [1, 0],
        [0, 1],
      ],
    ],
    [[6, 2], [3], [[1, 1]]],
  ])('BatchToSpaceND of %j by %j with crops %j is as on cpu', (shape, blockShape, crops) =>
    expectSame('BatchToSpaceND', shape, { blockShape, crops }),
  );
});

import * as fc from 'fast-check';
import { engine, type Tensor } from '@tensorflow/tfjs-core';
import { describe, it } from 'vitest';
import { expectSameAsCpu } from '../testing/compare.js';
import { finiteFloats, ints, make, tensorOf } from '../testing/values.js';

const RUNS = { numRuns: 300 };

/** libtorch computes positions in float32, tfjs in doubles. */
const POSITIONS = { rtol: 1e-4, atol: 1e-4 };

const GRIDS = [
  { alignCorners: false, halfPixelCenters: false },
  { alignCorners: true, halfPixelCenters: false },
  { alignCorners: false, halfPixelCenters: true },
] as const;

const lengths = (min: number) => fc.tuple(fc.integer({ min, max: 9 }), fc.integer({ min, max: 9 }));

/** Images, and a gradient of the size that they are resized to. */
const cases = (values: fc.Arbitrary<number>, { isSquare = false, maxBatch = 2, minLength = 1 } = {}) =>
  fc
    .record({
      batch: fc.integer({ min: 1, max: maxBatch }),
      channels: fc.integer({ min: 1, max: 3 }),
      from: lengths(minLength),
      to: lengths(1),
    })
    .chain(({ batch, channels, from: [height, width], to }) => {
      const [newHeight, newWidth] = to;
      const x = [batch, height, isSquare ? height : width, channels];
      return fc.record({
        images: tensorOf('float32', x, values),
        dy: tensorOf('float32', [batch, newHeight, newWidth, channels], values),
        size: fc.constant(to),
      });
    });

const run = (name: string, inputs: Record<string, Tensor>, attrs: object): Tensor =>
  engine().runKernel(name, inputs, attrs as never);

describe.each(GRIDS)('by %o', (grid) => {
  it('ResizeBilinear is as on cpu', async () => {
    await fc.assert(
      fc.asyncProperty(cases(finiteFloats()), ({ images, size }) =>
        expectSameAsCpu(() => run('ResizeBilinear', { images: make(images) }, { ...grid, size }), POSITIONS),
      ),
      RUNS,
    );
  });

  it('ResizeBilinearGrad is as on cpu', async () => {
    // The cpu backend swaps height and width in the shape of its result.
    await fc.assert(
      fc.asyncProperty(cases(finiteFloats(), { isSquare: true }), ({ images, dy, size }) =>
        expectSameAsCpu(
          () => run('ResizeBilinearGrad', { images: make(images), dy: make(dy) }, { ...grid, size }),
          POSITIONS,
        ),
      ),
      RUNS,
    );
  });

  it.each(['float32', 'int32'] as const)('ResizeNearestNeighbor of %s is as on cpu', async (dtype) => {
    await fc.assert(
      fc.asyncProperty(cases(ints(99)), ({ images, size }) =>
        expectSameAsCpu(() =>
          run('ResizeNearestNeighbor', { images: make({ ...images, dtype }) }, { ...grid, size }),
        ),
      ),
      RUNS,
    );
  });

  it('ResizeNearestNeighborGrad is as on cpu', async () => {
    // The cpu backend reads the gradient of images after the first from a wrong place, and loops
    // forever for a single row by corners.
    await fc.assert(
      fc.asyncProperty(cases(ints(99), { maxBatch: 1, minLength: 2 }), ({ images, dy, size }) =>
        expectSameAsCpu(() =>
          run('ResizeNearestNeighborGrad', { images: make(images), dy: make(dy) }, { ...grid, size }),
        ),
      ),
      RUNS,
    );
  });
});

import * as fc from 'fast-check';
import { engine, logSoftmax, type NamedAttrMap, type Tensor } from '@tensorflow/tfjs-core';
import { describe, it } from 'vitest';
import { expectSameAsCpu } from '../testing/compare.js';
import { finiteFloats, floats, make, tensorOf } from '../testing/values.js';

const RUNS = { numRuns: 200 };

const run = (name: string, inputs: Record<string, Tensor | undefined>, attrs: object): Tensor =>
  engine().runKernel(name, inputs as Record<string, Tensor>, attrs as NamedAttrMap);

const SHAPE = [2, 3, 2, 4];

describe('FusedBatchNorm', () => {
  it.each([[[4]], [[1, 1, 1, 4]], [SHAPE], [[1]]])(
    'with statistics of shape %j is as on cpu',
    async (shape) => {
      const statistic = tensorOf('float32', shape, finiteFloats());
      await fc.assert(
        fc.asyncProperty(
          tensorOf('float32', SHAPE, finiteFloats()),
          statistic,
          tensorOf('float32', shape, fc.float({ min: 0.5, max: 4, noNaN: true })),
          fc.option(statistic),
          fc.option(statistic),
          (x, mean, variance, scale, offset) =>
            expectSameAsCpu(
              () =>
                run(
                  'FusedBatchNorm',
                  {
                    x: make(x),
                    mean: make(mean),
                    variance: make(variance),
                    scale: scale ? make(scale) : undefined,
                    offset: offset ? make(offset) : undefined,
                  },
                  { varianceEpsilon: 1e-3 },
                ),
              { rtol: 1e-4, atol: 1e-4 },
            ),
        ),
        RUNS,
      );
    },
  );
});

describe('LRN', () => {
  const attrs = fc.record({
    depthRadius: fc.integer({ min: 0, max: 5 }),
    bias: fc.float({ min: 1, max: 3, noNaN: true }),
    alpha: fc.float({ min: Math.fround(0.1), max: 1, noNaN: true }),
    beta: fc.constantFrom(0.5, 0.75, 1),
  });
  const images = tensorOf('float32', [2, 2, 3, 5], finiteFloats(4));

  it('is as on cpu', async () => {
    await fc.assert(
      fc.asyncProperty(images, attrs, (x, options) =>
        expectSameAsCpu(() => run('LRN', { x: make(x) }, options)),
      ),
      RUNS,
    );
  });

  it('has the gradient of cpu', async () => {
    await fc.assert(
      fc.asyncProperty(images, images, images, attrs, (x, y, dy, options) =>
        expectSameAsCpu(() => run('LRNGrad', { x: make(x), y: make(y), dy: make(dy) }, options), {
          rtol: 1e-4,
          atol: 1e-4,
        }),
      ),
      RUNS,
    );
  });
});

describe('softmax', () => {
  it.each([[[5]], [[3, 4]], [[2, 3, 2]], [[0, 3]]])('of %j is as on cpu', async (shape) => {
    await fc.assert(
      fc.asyncProperty(tensorOf('float32', shape, floats(20)), (logits) =>
        expectSameAsCpu(() => run('Softmax', { logits: make(logits) }, { dim: shape.length - 1 })),
      ),
      RUNS,
    );
  });

  it('LogSoftmax is as the composition of tf.logSoftmax', async () => {
    await fc.assert(
      fc.asyncProperty(tensorOf('float32', [3, 4], finiteFloats(20)), (logits) =>
        expectSameAsCpu(() => {
          const x = make(logits);
          // tfjs's cpu backend has no such kernel, and tf.logSoftmax calls none.
          return engine().backendName === 'cpu'
            ? logSoftmax(x)
            : run('LogSoftmax', { logits: x }, { axis: 1 });
        }),
      ),
      RUNS,
    );
  });
});

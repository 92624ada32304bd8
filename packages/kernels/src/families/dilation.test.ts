import * as fc from 'fast-check';
import { engine, type Tensor } from '@tensorflow/tfjs-core';
import { describe, it } from 'vitest';
import { expectSameAsCpu } from '../testing/compare.js';
import { finiteFloats, ints, make, tensorOf, type TensorSpec } from '../testing/values.js';

const RUNS = { numRuns: 60 };

/**
 * Images, a filter that fits into them, a gradient of the result, and the attributes of the
 * windows.
 */
const cases = (values: fc.Arbitrary<number>, dtype: 'float32' | 'int32') =>
  fc
    .record({
      batch: fc.integer({ min: 1, max: 2 }),
      channels: fc.integer({ min: 1, max: 3 }),
      size: fc.tuple(fc.integer({ min: 3, max: 7 }), fc.integer({ min: 3, max: 7 })),
      window: fc.tuple(fc.integer({ min: 1, max: 2 }), fc.integer({ min: 1, max: 3 })),
      strides: fc.integer({ min: 1, max: 2 }),
      dilations: fc.integer({ min: 1, max: 2 }),
      pad: fc.constantFrom('same' as const, 'valid' as const),
    })
    .filter(
      ({ size, window, dilations, pad }) =>
        pad === 'same' || window.every((length, dim) => (length - 1) * dilations + 1 <= size[dim]!),
    )
    .chain(({ batch, channels, size, window, strides, dilations, pad }) => {
      const out = size.map((length, dim) => {
        const reach = pad === 'same' ? 0 : (window[dim]! - 1) * dilations;
        return Math.ceil((length - reach) / strides);
      });
      return fc.record({
        x: tensorOf(dtype, [batch, ...size, channels], values),
        filter: tensorOf(dtype, [...window, channels], values),
        dy: tensorOf(dtype, [batch, ...out, channels], values),
        attrs: fc.constant({ strides, dilations, pad }),
      });
    });

interface Case {
  readonly x: TensorSpec;
  readonly filter: TensorSpec;
  readonly dy: TensorSpec;
  readonly attrs: object;
}

function all({ x, filter, dy, attrs }: Case): Tensor[] {
  const inputs = { x: make(x), filter: make(filter) };
  const run = (name: string, given: Record<string, Tensor>): Tensor =>
    engine().runKernel(name, given, attrs as never);
  return [
    run('Dilation2D', inputs),
    run('Dilation2DBackpropInput', { ...inputs, dy: make(dy) }),
    run('Dilation2DBackpropFilter', { ...inputs, dy: make(dy) }),
  ];
}

describe('dilation and its gradients', () => {
  it('are as on cpu', async () => {
    await fc.assert(
      fc.asyncProperty(cases(finiteFloats(), 'float32'), (given) => expectSameAsCpu(() => all(given))),
      RUNS,
    );
  });

  it('of integers with many equal sums are as on cpu', async () => {
    await fc.assert(
      fc.asyncProperty(cases(ints(2), 'int32'), (given) => expectSameAsCpu(() => all(given))),
      RUNS,
    );
  });
});

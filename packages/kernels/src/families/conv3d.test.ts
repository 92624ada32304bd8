import * as fc from 'fast-check';
import { backend_util, engine, type NamedAttrMap, type Tensor } from '@tensorflow/tfjs-core';
import { beforeAll, describe, it } from 'vitest';
import { setNumThreads } from '@acc/native';
import { expectSameAsCpu } from '../testing/compare.js';
import { ints, make, tensorOf, type TensorSpec } from '../testing/values.js';

const RUNS = { numRuns: 200 };

// Tiny images: a second thread costs more than it saves.
beforeAll(() => setNumThreads(1));

const run = (name: string, inputs: Record<string, Tensor>, attrs: object): Tensor =>
  engine().runKernel(name, inputs, attrs as NamedAttrMap);

type Shape5D = [number, number, number, number, number];

interface Case {
  readonly x: TensorSpec;
  readonly filter: TensorSpec;
  readonly dy: TensorSpec;
  readonly attrs: {
    strides: [number, number, number];
    dilations: [number, number, number];
    pad: 'valid' | 'same';
    dataFormat: 'NDHWC';
  };
}

const few = fc.integer({ min: 1, max: 3 });
const triple = (of: fc.Arbitrary<number>) => fc.tuple(of, of, of);

function cases(isDilated: boolean): fc.Arbitrary<Case> {
  return fc
    .record({
      batch: fc.integer({ min: 0, max: 2 }),
      spatial: triple(fc.integer({ min: 1, max: 5 })),
      channels: fc.tuple(few, few),
      window: triple(few),
      strides: isDilated ? fc.constant<[number, number, number]>([1, 1, 1]) : triple(few),
      dilations: isDilated
        ? triple(fc.integer({ min: 1, max: 2 }))
        : fc.constant<[number, number, number]>([1, 1, 1]),
      pad: fc.constantFrom('valid' as const, 'same' as const),
    })
    .map(({ batch, spatial, channels: [cin, cout], window, ...rest }) => {
      const x: Shape5D = [batch, ...spatial, cin];
      const filter: Shape5D = [...window, cin, cout];
      const attrs = { ...rest, dataFormat: 'NDHWC' as const };
      const { outShape } = backend_util.computeConv3DInfo(x, filter, rest.strides, rest.dilations, rest.pad);
      return { x, filter, attrs, outShape };
    })
    .filter(({ outShape }) => outShape.every((length) => length >= 0 && !Object.is(length, -0)))
    .chain(({ x, filter, attrs, outShape }) =>
      fc.record({
        x: tensorOf('float32', x, ints(5)),
        filter: tensorOf('float32', filter, ints(5)),
        dy: tensorOf('float32', outShape, ints(5)),
        attrs: fc.constant(attrs),
      }),
    );
}

describe('Conv3D', () => {
  it.each([false, true])('is as on cpu, dilated: %s', async (isDilated) => {
    for (const dtype of ['float32', 'int32'] as const) {
      await fc.assert(
        fc.asyncProperty(cases(isDilated), ({ x, filter, attrs }) =>
          expectSameAsCpu(() =>
            run('Conv3D', { x: make({ ...x, dtype }), filter: make({ ...filter, dtype }) }, attrs),
          ),
        ),
        RUNS,
      );
    }
  });

  it('has the input gradient of cpu', async () => {
    await fc.assert(
      fc.asyncProperty(cases(false), ({ x, filter, dy, attrs }) =>
        expectSameAsCpu(() =>
          run(
            'Conv3DBackpropInputV2',
            { dy: make(dy), filter: make(filter) },
            { ...attrs, inputShape: x.shape },
          ),
        ),
      ),
      RUNS,
    );
  });

  it('has the filter gradient of cpu', async () => {
    await fc.assert(
      fc.asyncProperty(cases(false), ({ x, filter, dy, attrs }) =>
        expectSameAsCpu(() =>
          run(
            'Conv3DBackpropFilterV2',
            { x: make(x), dy: make(dy) },
            { ...attrs, filterShape: filter.shape },
          ),
        ),
      ),
      RUNS,
    );
  });
});

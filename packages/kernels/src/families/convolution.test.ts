import * as fc from 'fast-check';
import { backend_util, engine, type NamedAttrMap, type Tensor } from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { setNumThreads } from '@acc/native';
import { expectSameAsCpu } from '../testing/compare.js';
import { ints, make, tensorOf, type TensorSpec } from '../testing/values.js';

const RUNS = { numRuns: 300 };

// Tiny images: a second thread costs more than it saves.
beforeAll(() => setNumThreads(1));

/** Small integers: their sums are exact in every order. */
const images = (shape: readonly number[]) => tensorOf('float32', shape, ints(5));

const run = (name: string, inputs: Record<string, Tensor | undefined>, attrs: object): Tensor =>
  engine().runKernel(name, inputs as Record<string, Tensor>, attrs as NamedAttrMap);

type Shape4D = [number, number, number, number];

interface Case {
  readonly x: Shape4D;
  readonly filter: Shape4D;
  readonly attrs: {
    strides: [number, number];
    dilations: [number, number];
    pad: 'valid' | 'same' | number | backend_util.ExplicitPadding;
    dataFormat: 'NHWC' | 'NCHW';
    dimRoundingMode?: 'floor' | 'round' | 'ceil' | undefined;
  };
  readonly outShape: number[];
}

const size = fc.integer({ min: 1, max: 7 });
const few = fc.integer({ min: 1, max: 3 });
const pair = (of: fc.Arbitrary<number>) => fc.tuple(of, of);

interface CaseOptions {
  readonly depthwise: boolean;
  readonly dilated: boolean;
}

/** All kinds of convolutions that return an image, including empty ones. */
function cases({ depthwise, dilated }: CaseOptions): fc.Arbitrary<Case> {
  const amount = fc.integer({ min: 0, max: 3 });
  return fc
    .record({
      batch: fc.integer({ min: 0, max: 2 }),
      hw: pair(size),
      channels: pair(few),
      window: pair(fc.integer({ min: 1, max: 4 })),
      strides: pair(few),
      dilations: dilated ? pair(fc.integer({ min: 1, max: 2 })) : fc.constant<[number, number]>([1, 1]),
      padding: fc.oneof(
        fc.constantFrom('valid' as const, 'same' as const),
        amount,
        fc.tuple(pair(amount), pair(amount)),
      ),
      dataFormat: depthwise
        ? fc.constant('NHWC' as const)
        : fc.constantFrom('NHWC' as const, 'NCHW' as const),
      dimRoundingMode: fc.constantFrom('floor' as const, 'round' as const, 'ceil' as const, undefined),
    })
    .map(({ batch, hw: [h, w], channels: [cin, cout], window, padding, dataFormat, ...rest }) => {
      const isLast = dataFormat === 'NHWC';
      const spatial = Array.isArray(padding) ? padding : undefined;
      const explicit = spatial && (isLast ? [[0, 0], ...spatial, [0, 0]] : [[0, 0], [0, 0], ...spatial]);
      const pad = (explicit ?? padding) as Case['attrs']['pad'];
      const x: Shape4D = isLast ? [batch, h, w, cin] : [batch, cin, h, w];
      const filter: Shape4D = [window[0], window[1], cin, cout];
      const strides: [number, number] =
        depthwise && rest.dilations.some((rate) => rate > 1) ? [1, 1] : rest.strides;
      const attrs = { ...rest, strides, pad, dataFormat };
      const { outShape } = backend_util.computeConv2DInfo(
        x,
        filter,
        attrs.strides,
        attrs.dilations,
        attrs.pad,
        attrs.dimRoundingMode,
        depthwise,
        backend_util.convertConv2DDataFormat(dataFormat),
      );
      return { x, filter, attrs, outShape };
    })
    .filter(({ outShape }) => outShape.every((length) => length >= 0 && !Object.is(length, -0)));
}

/** A case with values for each shape in `shapes`. */
function filled<Name extends string>(
  options: CaseOptions,
  shapes: (of: Case) => Record<Name, readonly number[]>,
): fc.Arbitrary<[Case, Record<Name, TensorSpec>]> {
  return cases(options).chain((of) => {
    const entries = Object.entries(shapes(of)) as [Name, readonly number[]][];
    const specs = Object.fromEntries(entries.map(([name, shape]) => [name, images(shape)]));
    return fc.tuple(
      fc.constant(of),
      fc.record(specs as Record<Name, fc.Arbitrary<TensorSpec>>),
    ) as fc.Arbitrary<[Case, Record<Name, TensorSpec>]>;
  });
}

describe.each([
  { conv: 'Conv2D', backprop: 'Conv2DBackprop', depthwise: false },
  { conv: 'DepthwiseConv2dNative', backprop: 'DepthwiseConv2dNativeBackprop', depthwise: true },
])('$conv', ({ conv, backprop, depthwise }) => {
  it('is as on cpu', async () => {
    const arbitrary = filled({ depthwise, dilated: true }, ({ x, filter }) => ({ x, filter }));
    await fc.assert(
      fc.asyncProperty(arbitrary, ([{ attrs }, { x, filter }]) =>
        expectSameAsCpu(() => run(conv, { x: make(x), filter: make(filter) }, attrs)),
      ),
      RUNS,
    );
  });

  it('has the input gradient of cpu', async () => {
    const arbitrary = filled({ depthwise, dilated: false }, ({ filter, outShape }) => ({
      dy: outShape,
      filter,
    }));
    await fc.assert(
      fc.asyncProperty(arbitrary, ([{ attrs, x }, { dy, filter }]) =>
        expectSameAsCpu(() =>
          run(`${backprop}Input`, { dy: make(dy), filter: make(filter) }, { ...attrs, inputShape: x }),
        ),
      ),
      RUNS,
    );
  });

  it('has the filter gradient of cpu', async () => {
    const arbitrary = filled({ depthwise, dilated: false }, ({ x, outShape }) => ({ x, dy: outShape }));
    await fc.assert(
      fc.asyncProperty(arbitrary, ([{ attrs, filter }, { x, dy }]) =>
        expectSameAsCpu(() =>
          run(`${backprop}Filter`, { x: make(x), dy: make(dy) }, { ...attrs, filterShape: filter }),
        ),
      ),
      RUNS,
    );
  });
});

const ACTIVATIONS = ['linear', 'relu', 'relu6', 'elu', 'sigmoid', 'leakyrelu', 'prelu'] as const;

describe.each([
  { conv: 'FusedConv2D', depthwise: false },
  { conv: 'FusedDepthwiseConv2D', depthwise: true },
])('$conv', ({ conv, depthwise }) => {
  it.each(ACTIVATIONS)('with bias and %s is as on cpu', async (activation) => {
    const channelsOf = ({ outShape, attrs }: Case) => outShape[attrs.dataFormat === 'NHWC' ? 3 : 1]!;
    const arbitrary = filled({ depthwise, dilated: true }, (of) => ({
      x: of.x,
      filter: of.filter,
      perChannel: [channelsOf(of)],
      one: [],
      slopes: [channelsOf(of)],
    }));
    await fc.assert(
      fc.asyncProperty(arbitrary, fc.constantFrom('perChannel', 'one', 'none'), ([{ attrs }, specs], kind) =>
        expectSameAsCpu(() => {
          const bias = kind === 'none' ? undefined : make(specs[kind as 'one']);
          const preluActivationWeights = activation === 'prelu' ? make(specs.slopes) : undefined;
          const inputs = { x: make(specs.x), filter: make(specs.filter), bias, preluActivationWeights };
          return run(conv, inputs, { ...attrs, activation, leakyreluAlpha: 0.3 });
        }),
      ),
      { numRuns: 100 },
    );
  });
});

describe('cases in which oneDNN fails', () => {
  // Wrong results and writes beyond the memory depend on the number of threads.
  beforeAll(() => setNumThreads(2));
  afterAll(() => setNumThreads(1));

  const attrs = { dilations: [1, 1], dataFormat: 'NHWC' };

  it('a convolution with one strided window along a row of one channel is as on cpu', async () => {
    await fc.assert(
      fc.asyncProperty(images([2, 2, 1, 1]), images([3, 3, 1, 1]), (x, filter) =>
        expectSameAsCpu(() =>
          run('Conv2D', { x: make(x), filter: make(filter) }, { ...attrs, strides: [1, 2], pad: 'same' }),
        ),
      ),
      { numRuns: 20 },
    );
  });

  it('the gradient of a strided 1 by 1 filter for few channels is as on cpu', async () => {
    await fc.assert(
      fc.asyncProperty(images([5, 19, 9, 1]), images([5, 19, 3, 5]), (x, dy) =>
        expectSameAsCpu(() =>
          run(
            'Conv2DBackpropFilter',
            { x: make(x), dy: make(dy) },
            { ...attrs, strides: [1, 3], pad: 'valid', filterShape: [1, 1, 1, 5] },
          ),
        ),
      ),
      { numRuns: 20 },
    );
  });
});

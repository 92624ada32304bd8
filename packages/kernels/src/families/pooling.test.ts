import * as fc from 'fast-check';
import { backend_util, engine, type NamedAttrMap, type Tensor } from '@tensorflow/tfjs-core';
import { describe, it } from 'vitest';
import { expectSameAsCpu } from '../testing/compare.js';
import { finiteFloats, ints, make, tensorOf, type TensorSpec } from '../testing/values.js';

const RUNS = { numRuns: 300 };

const run = (name: string, inputs: Record<string, Tensor>, attrs: object): Tensor[] =>
  [engine().runKernel(name, inputs, attrs as NamedAttrMap) as Tensor | Tensor[]].flat();

interface Case {
  readonly x: readonly number[];
  readonly attrs: {
    filterSize: number[];
    strides: number[];
    pad: 'valid' | 'same' | number | backend_util.ExplicitPadding;
    dimRoundingMode?: 'floor' | 'round' | 'ceil' | undefined;
  };
  readonly outShape: readonly number[];
}

interface CaseOptions {
  readonly rank: 2 | 3;
  /** Whether windows are cubes; the cpu backend computes wrong indices for other windows. */
  readonly isCubic?: boolean;
  /**
   * Whether sizes may be rounded in ways other than the one that tfjs's gradients assume; they do
   * not receive it.
   */
  readonly isRounded?: boolean;
}

/** All kinds of poolings that return an image, including empty ones. */
function cases({ rank, isCubic = false, isRounded = true }: CaseOptions): fc.Arbitrary<Case> {
  const each = <T>(of: fc.Arbitrary<T>) => fc.array(of, { minLength: rank, maxLength: rank });
  const amount = fc.integer({ min: 0, max: 2 });
  const window = fc.integer({ min: 1, max: 3 });
  const pads: fc.Arbitrary<Case['attrs']['pad']>[] = [fc.constantFrom('valid', 'same'), amount];
  if (rank === 2) {
    pads.push(
      fc
        .tuple(fc.tuple(amount, amount), fc.tuple(amount, amount))
        .map(([height, width]) => [[0, 0], height, width, [0, 0]]),
    );
  }
  return fc
    .record({
      batch: fc.integer({ min: 0, max: 2 }),
      spatial: each(fc.integer({ min: 1, max: rank === 2 ? 7 : 5 })),
      channels: fc.integer({ min: 1, max: 3 }),
      filterSize: isCubic ? window.map((edge) => [edge, edge, edge]) : each(window),
      strides: each(window),
      pad: fc.oneof(...pads),
      dimRoundingMode: isRounded
        ? fc.constantFrom('floor' as const, 'round' as const, 'ceil' as const, undefined)
        : fc.constant(undefined),
    })
    .map(({ batch, spatial, channels, ...attrs }) => {
      const x = [batch, ...spatial, channels];
      return { x, attrs, outShape: outShapeOf(rank, x, attrs) };
    })
    .filter(({ outShape }) => outShape.every((length) => length >= 0 && !Object.is(length, -0)));
}

function outShapeOf(rank: 2 | 3, x: number[], attrs: Case['attrs']): number[] {
  const { filterSize, strides, pad, dimRoundingMode } = attrs;
  const compute = backend_util[rank === 2 ? 'computePool2DInfo' : 'computePool3DInfo'] as (
    ...args: unknown[]
  ) => { outShape: number[] };
  return compute(x, filterSize, strides, 1, pad, dimRoundingMode).outShape;
}

/** A case with an image and another image of the size of the result. */
const filled = (options: CaseOptions, values: fc.Arbitrary<number>): fc.Arbitrary<[Case, Images]> =>
  cases(options).chain((of) =>
    fc.tuple(
      fc.constant(of),
      fc.record({
        x: tensorOf('float32', of.x, values),
        dy: tensorOf('float32', of.outShape, ints(5)),
      }),
    ),
  );

interface Images {
  readonly x: TensorSpec;
  readonly dy: TensorSpec;
}

/** Few different values, so that most windows have several equal maxima. */
const withTies = fc.integer({ min: -1, max: 1 });
const withNaN = fc.oneof({ weight: 3, arbitrary: withTies }, { weight: 1, arbitrary: fc.constant(NaN) });

describe.each([2, 3] as const)('pooling of %i spatial dims', (rank) => {
  const [max, average] = rank === 2 ? ['MaxPool', 'AvgPool'] : ['MaxPool3D', 'AvgPool3D'];

  it.each([
    [max, withTies],
    [max, withNaN],
    [average, ints(9)],
    [average, withNaN],
  ] as const)('%s is as on cpu', async (name, values) => {
    await fc.assert(
      fc.asyncProperty(filled({ rank }, values), ([{ attrs }, { x }]) =>
        expectSameAsCpu(() => run(name, { x: make(x) }, attrs)),
      ),
      RUNS,
    );
  });

  it('takes the maximum of integers', async () => {
    await fc.assert(
      fc.asyncProperty(
        filled({ rank, isRounded: false }, ints(2 ** 31 - 1)),
        ([{ attrs, outShape }, { x }]) => {
          // A window that holds only padding has no maximum, and integers have no -Infinity.
          fc.pre(attrs.pad === 'valid' && !outShape.includes(0));
          return expectSameAsCpu(() => run(max, { x: make({ ...x, dtype: 'int32' }) }, attrs));
        },
      ),
      { numRuns: 100 },
    );
  });

  it('gives the whole gradient to the maximum that cpu chooses', async () => {
    for (const values of [withTies, finiteFloats()]) {
      await fc.assert(
        fc.asyncProperty(
          filled({ rank, isCubic: rank === 3, isRounded: false }, values),
          ([{ attrs }, { x, dy }]) =>
            expectSameAsCpu(() => {
              const input = make(x);
              return run(`${max}Grad`, { dy: make(dy), input, output: input }, attrs);
            }),
        ),
        RUNS,
      );
    }
  });

  it('distributes the gradient of averages as cpu does', async () => {
    await fc.assert(
      fc.asyncProperty(filled({ rank, isRounded: false }, ints(9)), ([{ attrs }, { x, dy }]) =>
        expectSameAsCpu(() => run(`${average}Grad`, { dy: make(dy), input: make(x) }, attrs)),
      ),
      RUNS,
    );
  });
});

describe('MaxPoolWithArgmax', () => {
  it('finds the values and positions that cpu finds', async () => {
    await fc.assert(
      fc.asyncProperty(
        filled({ rank: 2, isRounded: false }, withTies),
        fc.boolean(),
        ([{ attrs, outShape }, { x }], includeBatchInIndex) => {
          // tfjs's op does not support explicit padding.
          fc.pre(typeof attrs.pad === 'string' && !outShape.includes(0));
          return expectSameAsCpu(() =>
            run('MaxPoolWithArgmax', { x: make(x) }, { ...attrs, includeBatchInIndex }),
          );
        },
      ),
      RUNS,
    );
  });
});

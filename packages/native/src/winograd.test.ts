import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { isAccError } from '@acc/contract';
import { cpuHas } from '@acc/testkit';
import { memoryStats, numThreads, setNumThreads } from './memory.js';
import { operator } from './operator.js';
import { tensorFrom, type Tensor } from './tensor.js';

// The operators of cpp/engine/kernels/winograd, compared with libtorch's convolution in float64.

const convolve = operator('acc::winograd_convolution');
const weightGradient = operator('acc::winograd_convolution_weight_gradient');
const convolution = operator('aten::convolution');
const plainWeightGradient = operator('acc::convolution_weight_gradient');
const convert = operator('aten::to.dtype');
const contiguous = operator('aten::contiguous');

interface Case {
  readonly batch: number;
  readonly height: number;
  readonly width: number;
  readonly channels: number;
  readonly outputs: number;
  readonly window: number;
  readonly padding: readonly [number, number];
  readonly hasBias: boolean;
  /** Whether tensors have their channels innermost in memory. */
  readonly isChannelsLast: boolean;
}

/** Sizes about those of tiles and groups of tiles. The window fits into the padded image. */
const cases: fc.Arbitrary<Case> = fc
  .record({
    batch: fc.integer({ min: 0, max: 3 }),
    height: fc.integer({ min: 1, max: 15 }),
    width: fc.integer({ min: 1, max: 15 }),
    channels: fc.constantFrom(16, 32, 48),
    outputs: fc.constantFrom(16, 32, 48, 80),
    window: fc.constantFrom(3, 5),
    padding: fc.tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 4 })),
    hasBias: fc.boolean(),
    isChannelsLast: fc.boolean(),
  })
  .filter(({ height, width, window, padding: [y, x] }) => {
    return Math.max(y, x) < window && height + 2 * y >= window && width + 2 * x >= window;
  });

/** Numbers from -1 to 1 that look random, the same in every run. Caller disposes. */
function noise(shape: readonly number[], seed: number, isChannelsLast = false): Tensor {
  const size = shape.reduce((count, length) => count * length, 1);
  let state = seed;
  const values = Float32Array.from({ length: size }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
  using rows = tensorFrom(values, 'float32', shape);
  return contiguous(rows, isChannelsLast ? 2 : 0);
}

const read = (x: Tensor): Float64Array => x.read('float64') as Float64Array;

interface Operands extends Disposable {
  readonly x: Tensor;
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  readonly dy: Tensor;
}

function operandsOf(of: Case): Operands {
  const { batch, height, width, channels, outputs, window, padding, hasBias, isChannelsLast } = of;
  const x = noise([batch, channels, height, width], 1, isChannelsLast);
  const weight = noise([outputs, channels, window, window], 2, isChannelsLast);
  const bias = hasBias ? noise([outputs], 3) : null;
  const outHeight = height + 2 * padding[0] - window + 1;
  const outWidth = width + 2 * padding[1] - window + 1;
  const dy = noise([batch, outputs, outHeight, outWidth], 4, isChannelsLast);
  const dispose = () => [x, weight, bias, dy].forEach((tensor) => tensor?.dispose());
  return { x, weight, bias, dy, [Symbol.dispose]: dispose };
}

const ones = [1, 1];
const none = [0, 0];

/** A result, and the same by libtorch in float64. */
type Way = (of: Case, operands: Operands) => Tensor;
interface Compared {
  readonly own: Way;
  /** Of operands in float64. */
  readonly plain: Way;
  /** How many products an element adds up. */
  readonly terms: (of: Case) => number;
}

const WAYS: Record<string, Compared> = {
  'a convolution': {
    own: ({ padding }, { x, weight, bias }) => convolve(x, weight, bias, padding, false),
    plain: ({ padding }, { x, weight, bias }) =>
      convolution(x, weight, bias, ones, padding, ones, false, none, 1),
    terms: ({ channels, window }) => channels * window ** 2,
  },
  'a gradient of images': {
    own: ({ padding }, { dy, weight }) => convolve(dy, weight, null, padding, true),
    plain: ({ padding }, { dy, weight }) => convolution(dy, weight, null, ones, padding, ones, true, none, 1),
    terms: ({ outputs, window }) => outputs * window ** 2,
  },
  'a gradient of a weight': {
    own: ({ padding, window }, { x, dy }) => weightGradient(dy, x, [window, window], padding),
    plain: ({ padding }, { x, dy, weight }) => plainWeightGradient(dy, x, weight, ones, padding, ones, 1),
    terms: ({ batch, height, width }) => batch * height * width,
  },
};

function widened({ x, weight, bias, dy }: Operands): Operands {
  const wide = [x, weight, bias, dy].map((tensor) => tensor && convert(tensor, 'float64'));
  const [wideX, wideWeight, wideBias, wideDy] = wide as [Tensor, Tensor, Tensor | null, Tensor];
  const dispose = () => wide.forEach((tensor) => tensor?.dispose());
  return { x: wideX, weight: wideWeight, bias: wideBias, dy: wideDy, [Symbol.dispose]: dispose };
}

const isSupported = cpuHas('avx512f', 'avx512bw', 'avx512dq', 'avx512vl');

describe('convolutions by Winograd', () => {
  const threads = numThreads();
  afterEach(() => setNumThreads(threads));

  it.each(Object.entries(isSupported ? WAYS : {}))(
    '%s is that in float64',
    (_name, { own, plain, terms }) => {
      const before = memoryStats().allocatedBytes;
      fc.assert(
        fc.property(cases, fc.integer({ min: 1, max: 2 }), (of, count) => {
          setNumThreads(count);
          using operands = operandsOf(of);
          using wide = widened(operands);
          using result = own(of, operands);
          using expected = plain(of, wide);
          expect(result.shape).toEqual(expected.shape);
          // A sum of n products with independent errors is off by √n of them. The transforms make
          // the largest error several times as large. One wrong tap is off by about 1.
          const tolerance = 2e-5 * (Math.sqrt(terms(of)) + 1);
          const exact = read(expected);
          const worst = read(result).reduce(
            (most, value, i) => Math.max(most, Math.abs(value - exact[i]!)),
            0,
          );
          expect(worst).toBeLessThan(tolerance);
        }),
        { numRuns: 150 },
      );
      expect(memoryStats().allocatedBytes).toBe(before);
    },
  );

  it.each(Object.entries(isSupported ? WAYS : {}))(
    '%s has the same bits on two threads',
    (_name, { own }) => {
      const of: Case = {
        ...{ batch: 9, height: 14, width: 13, channels: 32, outputs: 48, window: 5 },
        ...{ padding: [2, 2], hasBias: true, isChannelsLast: true },
      };
      using operands = operandsOf(of);
      const [one, two] = [1, 2].map((count) => {
        setNumThreads(count);
        using result = own(of, operands);
        return read(result);
      });
      expect(two).toEqual(one);
    },
  );

  it('refuses what it cannot compute', () => {
    using images = noise([1, 16, 6, 6], 1);
    using odd = noise([1, 17, 6, 6], 1);
    using weight = noise([16, 16, 3, 3], 1);
    using large = noise([16, 16, 7, 7], 1);
    using wide = convert(images, 'float64');
    const refused: (() => Tensor)[] = [
      () => convolve(odd, weight, null, [1, 1], false),
      () => convolve(images, large, null, [3, 3], false),
      () => convolve(wide, weight, null, [1, 1], false),
      () => convolve(images, weight, null, [3, 0], false),
      () => weightGradient(odd, images, [3, 3], [1, 1]),
      () => weightGradient(images, images, [3, 3], [0, 1]),
    ];
    for (const run of refused) {
      expect(run).toThrow(expect.toSatisfy((error) => isAccError(error, 'ACC_OPERATOR_FAILED')));
    }
  });
});

import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { isAccError } from '@acc/contract';
import { cpuHas } from '@acc/testkit';
import { memoryStats, numThreads, setNumThreads } from './memory.js';
import { operator, operatorInPlace } from './operator.js';
import { tensorFrom, type Tensor } from './tensor.js';

// The operator of cpp/engine/kernels/product: bits and values of products on CPUs with AVX-512.

const matmul = operator('acc::matmul');
const addmm = operator('acc::addmm');
const addmm_ = operatorInPlace('acc::addmm_');
const add = operator('aten::add.Tensor');
const slice = operator('aten::slice.Tensor');
const transpose = operator('aten::t');
const convert = operator('aten::to.dtype');
const mm = operator('aten::mm');

const DTYPES = ['float32', 'bfloat16'] as const;
type Dtype = (typeof DTYPES)[number];

/** Whether the CPU has the instructions, by what the system says of it. */
const hasInstructions = (dtype: Dtype): boolean =>
  cpuHas('avx512f', 'avx512bw', 'avx512vl', ...(dtype === 'bfloat16' ? ['avx512_bf16'] : []));

/** A prime, so that no two rows of a matrix have the same numbers. */
const PERIOD = 10_007;
const waves = [1, 2, 3, 4, 5].map((seed) =>
  Float32Array.from({ length: PERIOD }, (_, i) => Math.sin(1.7 * i + seed) + 0.1),
);

/** The same numbers in every run, of the dtype. Caller disposes. */
function wave(shape: readonly number[], dtype: Dtype, seed: number): Tensor {
  const size = shape.reduce((count, length) => count * length, 1);
  const values = new Float32Array(size);
  const period = waves[seed - 1]!;
  for (let at = 0; at < size; at += PERIOD) values.set(period.subarray(0, size - at), at);
  using floats = tensorFrom(values, 'float32', shape);
  return convert(floats, dtype);
}

/** A matrix as a layout stores it: rows in memory order, or every second row and third column of a larger one. */
function stored(rows: number, columns: number, isView: boolean, dtype: Dtype, seed: number): Tensor {
  if (!isView) return wave([rows, columns], dtype, seed);
  using large = wave([2 * rows, 3 * columns], dtype, seed);
  using some = slice(large, 0, 0, 2 * rows, 2);
  return slice(some, 1, 0, 3 * columns, 3);
}

const read = (x: Tensor): Float64Array => x.read('float64') as Float64Array;

/** The place of the first number with other bits, or -1. */
function firstDifference(one: Float64Array, other: Float64Array): number {
  if (Buffer.from(one.buffer).equals(Buffer.from(other.buffer))) return -1;
  return one.findIndex((value, i) => !Object.is(value, other[i]));
}

interface Case {
  readonly m: number;
  readonly k: number;
  readonly n: number;
  readonly transposeA: boolean;
  readonly transposeB: boolean;
  readonly isViewA: boolean;
  readonly isViewB: boolean;
  readonly hasBias: boolean;
  readonly activation: string;
}

/** Sizes about those of vectors, panels, blocks of rows, chunks and blocks of k. */
const near = (...sizes: number[]): fc.Arbitrary<number> =>
  fc.oneof(
    fc.integer({ min: 0, max: 40 }),
    fc.tuple(fc.constantFrom(...sizes), fc.integer({ min: -2, max: 2 })).map(([size, by]) => size + by),
  );

const cases: fc.Arbitrary<Case> = fc.record({
  m: near(14, 28, 252, 520),
  k: near(16, 32, 64, 512, 1024, 1100),
  n: near(16, 32, 64, 96),
  transposeA: fc.boolean(),
  transposeB: fc.boolean(),
  isViewA: fc.boolean(),
  isViewB: fc.boolean(),
  hasBias: fc.boolean(),
  activation: fc.constantFrom('linear', 'relu'),
});

interface Operands extends Disposable {
  readonly a: Tensor;
  readonly b: Tensor;
  readonly bias: Tensor | null;
}

function operandsOf({ m, k, n, ...given }: Case, dtype: Dtype): Operands {
  const a = stored(given.transposeA ? k : m, given.transposeA ? m : k, given.isViewA, dtype, 1);
  const b = stored(given.transposeB ? n : k, given.transposeB ? k : n, given.isViewB, dtype, 2);
  const bias = given.hasBias ? wave([n], dtype, 3) : null;
  return { a, b, bias, [Symbol.dispose]: () => [a, b, bias].forEach((x) => x?.dispose()) };
}

const run = ({ a, b, bias }: Operands, { transposeA, transposeB, activation }: Case): Tensor =>
  matmul(a, b, bias, transposeA, transposeB, activation);

/** The largest difference from the product in float64, in units of the terms' magnitudes. */
function errorOf(result: Float64Array, { a, b, bias }: Operands, given: Case): number {
  const { m, k, n, transposeA, transposeB, activation } = given;
  using left = transposeA ? transpose(a) : undefined;
  using right = transposeB ? transpose(b) : undefined;
  using wideA = convert(left ?? a, 'float64');
  using wideB = convert(right ?? b, 'float64');
  using product = mm(wideA, wideB);
  const sums = read(product);
  const added = bias ? read(bias) : undefined;
  const magnitude = 1.21 * k + 1.1;
  let worst = 0;
  for (let i = 0; i < m * n; i++) {
    const sum = sums[i]! + (added?.[i % n] ?? 0);
    const expected = activation === 'relu' ? Math.max(0, sum) : sum;
    worst = Math.max(worst, Math.abs(result[i]! - expected) / magnitude);
  }
  return worst;
}

describe('acc::matmul', () => {
  it.each(DTYPES)('is there for %s if the CPU has the instructions', (dtype) => {
    using a = wave([2, 3], dtype, 1);
    using b = wave([3, 2], dtype, 1);
    let failure: unknown;
    try {
      matmul(a, b, null, false, false, 'linear').dispose();
    } catch (error) {
      failure = error;
    }
    expect(failure === undefined).toBe(hasInstructions(dtype));
    expect(failure === undefined || isAccError(failure, 'ACC_OPERATOR_FAILED')).toBe(true);
  });

  it.each([
    ['another dtype', 'float64', [2, 3], 'linear'],
    ['sizes that do not fit', 'float32', [2, 4], 'linear'],
    ['a vector', 'float32', [3], 'linear'],
    ['another activation', 'float32', [2, 3], 'tanh'],
  ] as const)('refuses %s', (_, dtype, shape, activation) => {
    using floats = wave(shape, 'float32', 1);
    using a = convert(floats, dtype);
    using b = wave([3, 2], 'float32', 1);
    expect(() => matmul(a, b, null, false, false, activation)).toThrow(/acc::matmul/);
  });
});

describe.each(DTYPES.filter(hasInstructions))('acc::matmul of %s', (dtype) => {
  const threads = numThreads();
  afterEach(() => setNumThreads(threads));

  it('is the product in float64 but for rounding, with every layout', () => {
    fc.assert(
      fc.property(cases, (given) => {
        using operands = operandsOf(given, dtype);
        using result = run(operands, given);
        expect(result.shape).toEqual([given.m, given.n]);
        expect(errorOf(read(result), operands, given)).toBeLessThan(dtype === 'float32' ? 1e-6 : 2 ** -8);
      }),
      { numRuns: 150 },
    );
  });

  it('has the same bits with any number of threads', () => {
    fc.assert(
      fc.property(cases, fc.integer({ min: 2, max: 5 }), (drawn, count) => {
        // Large enough for several threads, if there are enough rows.
        const given = { ...drawn, k: 1000 + drawn.k, n: 60 + drawn.n };
        using operands = operandsOf(given, dtype);
        setNumThreads(1);
        using one = run(operands, given);
        setNumThreads(count);
        using several = run(operands, given);
        expect(firstDifference(read(several), read(one))).toBe(-1);
      }),
      { numRuns: 60 },
    );
  });

  it('has the same bits in a row, however many rows there are', () => {
    const given = { k: 1100, n: 70, transposeA: false, transposeB: false, isViewA: false, isViewB: false };
    const options = { ...given, hasBias: true, activation: 'linear' };
    using all = operandsOf({ ...options, m: 300 }, dtype);
    using product = run(all, { ...options, m: 300 });
    for (const m of [1, 13, 14, 15, 253]) {
      using a = slice(all.a, 0, 0, m, 1);
      using rows = matmul(a, all.b, all.bias, false, false, 'linear');
      expect(read(rows)).toEqual(read(product).subarray(0, m * given.n));
    }
  });

  it.each(['linear', 'relu'])('keeps NaN and infinity: %s', (activation) => {
    using floats = tensorFrom(Float32Array.of(1, NaN, 1, 1, Infinity, 1, 1, 1, 0), 'float32', [3, 3]);
    using a = convert(floats, dtype);
    using b = wave([3, 40], dtype, 5);
    using result = matmul(a, b, null, false, false, activation);
    const values = read(result);
    expect(values.subarray(0, 40).every(Number.isNaN)).toBe(true);
    const signs = read(b).subarray(40, 80).map(Math.sign);
    const infinite = Array.from(signs, (sign) =>
      sign > 0 ? Infinity : activation === 'relu' ? 0 : -Infinity,
    );
    expect([...values.subarray(40, 80)]).toEqual(infinite);
    expect(values.subarray(80).every(Number.isFinite)).toBe(true);
  });

  it('is added to a sum in place, as by a separate addition', () => {
    // Products of one block of k; the last of two blocks would be added to what is in the sum already.
    const most = dtype === 'float32' ? 512 : 1024;
    fc.assert(
      fc.property(cases, fc.integer({ min: 1, max: 3 }), (drawn, threads) => {
        const given = { ...drawn, k: Math.min(drawn.k, most), hasBias: false, activation: 'linear' };
        setNumThreads(threads);
        using operands = operandsOf(given, dtype);
        using product = run(operands, given);
        using sum = wave([given.m, given.n], dtype, 4);
        using expected = add(sum, product);
        using anew = addmm(sum, operands.a, operands.b, given.transposeA, given.transposeB);
        addmm_(sum, operands.a, operands.b, given.transposeA, given.transposeB);
        const values = read(sum);
        expect(firstDifference(read(anew), values)).toBe(-1);
        if (dtype === 'float32') expect(firstDifference(values, read(expected))).toBe(-1);
        else {
          const limit = 2 ** -8 * (2.21 + 1.21 * given.k);
          const wanted = read(expected);
          const worst = values.reduce((most, value, i) => Math.max(most, Math.abs(value - wanted[i]!)), 0);
          expect(worst).toBeLessThanOrEqual(limit);
        }
      }),
      { numRuns: dtype === 'float32' ? 100 : 20 },
    );
  });

  it('is added to a sum over several blocks of k', () => {
    const given = {
      m: 30,
      k: 2100,
      n: 40,
      transposeA: false,
      transposeB: false,
      isViewA: false,
      isViewB: false,
    };
    using operands = operandsOf({ ...given, hasBias: false, activation: 'linear' }, dtype);
    using sum = wave([30, 40], dtype, 4);
    const before = read(sum);
    addmm_(sum, operands.a, operands.b, false, false);
    const added = read(sum).map((value, i) => value - before[i]!);
    const limit = dtype === 'float32' ? 1e-6 : 2 ** -8;
    expect(errorOf(added, operands, { ...given, hasBias: false, activation: 'linear' })).toBeLessThan(limit);
  });

  it('is not added to a sum of another shape, dtype or layout', () => {
    using a = wave([4, 3], dtype, 1);
    using b = wave([3, 5], dtype, 2);
    using short = wave([4, 4], dtype, 3);
    using floats = wave([4, 5], dtype, 3);
    using wide = convert(floats, 'float64');
    using stored = wave([5, 4], dtype, 3);
    using turned = transpose(stored);
    for (const sum of [short, wide, turned]) {
      expect(() => addmm_(sum, a, b, false, false)).toThrow(/acc::addmm_ needs a contiguous sum/);
    }
  });

  it('keeps no memory', () => {
    const given = {
      m: 300,
      k: 1100,
      n: 70,
      transposeA: true,
      transposeB: true,
      isViewA: false,
      isViewB: false,
    };
    const all = { ...given, hasBias: true, activation: 'relu' };
    using operands = operandsOf(all, dtype);
    const before = memoryStats().allocatedBytes;
    for (let i = 0; i < 3; i++) run(operands, all).dispose();
    expect(memoryStats().allocatedBytes).toBe(before);
  });
});

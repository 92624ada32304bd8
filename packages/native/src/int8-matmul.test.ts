import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isAccError } from '@acc/contract';
import { cpuHas } from '@acc/testkit';
import { numThreads, setNumThreads } from './memory.js';
import { operator } from './operator.js';
import { tensorFrom, type Tensor } from './tensor.js';

// The operator of cpp/engine/kernels/int8_product, by value against its formula in this file.

const int8Matmul = operator('acc::int8_matmul');
const hasProducts = operator('acc::has_int8_products');
const convert = operator('aten::to.dtype');
const transpose = operator('aten::t');

interface Case {
  readonly m: number;
  readonly k: number;
  readonly n: number;
  readonly transposeA: boolean;
  readonly transposeB: boolean;
  readonly dtypeA: 'float32' | 'bfloat16';
  readonly dtypeB: 'float32' | 'bfloat16';
  readonly hasBias: boolean;
  readonly activation: 'linear' | 'relu';
  readonly stochastic: '' | 'a' | 'b';
  readonly seed: number;
}

/** Sizes about those of words, vectors, panels, blocks of rows and of k. */
const near = (...sizes: number[]): fc.Arbitrary<number> =>
  fc.oneof(
    fc.integer({ min: 1, max: 40 }),
    fc.tuple(fc.constantFrom(...sizes), fc.integer({ min: -2, max: 2 })).map(([size, by]) => size + by),
  );
const dtype = fc.constantFrom('float32' as const, 'bfloat16' as const);
const cases: fc.Arbitrary<Case> = fc.record({
  m: near(14, 28, 64),
  k: near(4, 64, 128, 200),
  n: near(16, 32, 64),
  transposeA: fc.boolean(),
  transposeB: fc.boolean(),
  dtypeA: dtype,
  dtypeB: dtype,
  hasBias: fc.boolean(),
  activation: fc.constantFrom('linear' as const, 'relu' as const),
  stochastic: fc.constantFrom('' as const, 'a' as const, 'b' as const),
  seed: fc.integer({ min: 0, max: 2 ** 31 }),
});

/** The same numbers in every run, `[rows, columns]`, stored as they are or as their transpose. */
function wave(
  rows: number,
  columns: number,
  given: { seed: number; dtype: string; isTurned: boolean },
): Tensor {
  const values = Float32Array.from(
    { length: rows * columns },
    (_, i) => Math.sin(1.7 * i + given.seed) * (1 + (i % 7)),
  );
  const shape = given.isTurned ? [columns, rows] : [rows, columns];
  using floats = tensorFrom(values, 'float32', shape);
  return convert(floats, given.dtype);
}

interface Factors extends Disposable {
  readonly a: Tensor;
  readonly b: Tensor;
  readonly bias: Tensor | null;
}

function factorsOf(given: Case): Factors {
  const a = wave(given.m, given.k, { seed: 1, dtype: given.dtypeA, isTurned: given.transposeA });
  const b = wave(given.k, given.n, { seed: 2, dtype: given.dtypeB, isTurned: given.transposeB });
  const bias = given.hasBias
    ? tensorFrom(
        Float32Array.from({ length: given.n }, (_, i) => Math.cos(i)),
        'float32',
        [given.n],
      )
    : null;
  return { a, b, bias, [Symbol.dispose]: () => [a, b, bias].forEach((x) => x?.dispose()) };
}

function run({ a, b, bias }: Factors, given: Case, dtype = 'float32', isPlain = false): Float32Array {
  const { transposeA, transposeB, activation, stochastic, seed } = given;
  using y = int8Matmul(a, b, bias, transposeA, transposeB, activation, dtype, stochastic, seed, isPlain);
  return y.read('float32') as Float32Array;
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** The lanes of a factor: rows of `a` or columns of `b`. */
function lanesOf(x: Tensor, isTurned: boolean): number[][] {
  using turned = isTurned ? transpose(x) : undefined;
  const values = (turned ?? x).read('float32') as Float32Array;
  const [lanes, numbers] = (turned ?? x).shape as [number, number];
  return Array.from({ length: lanes }, (_, i) => [...values.subarray(i * numbers, (i + 1) * numbers)]);
}

/** The largest difference from the product of the lanes, each rounded to multiples of 1/127 of its largest number. */
function errorOf(result: Float32Array, { a, b, bias }: Factors, given: Case): number {
  const [left, right] = [lanesOf(a, given.transposeA), lanesOf(b, !given.transposeB)];
  const added = bias?.read() as Float32Array | undefined;
  const round = (lane: number[]) => {
    const largest = Math.max(...lane.map(Math.abs));
    const [scale, factor] = [Math.fround(largest / 127), Math.fround(127 / largest)];
    return lane.map((x) => toEven(Math.fround(x * factor)) * scale);
  };
  const [rows, columns] = [left.map(round), right.map(round)];
  let worst = 0;
  rows.forEach((row, i) =>
    columns.forEach((column, j) => {
      const sum = row.reduce((total, x, k) => total + x * column[k]!, 0) + (added?.[j] ?? 0);
      const expected = given.activation === 'relu' ? Math.max(0, sum) : sum;
      worst = Math.max(worst, Math.abs(result[i * given.n + j]! - expected));
    }),
  );
  return worst;
}

/** The nearest integer; ties go to the even one. */
function toEven(x: number): number {
  const nearest = Math.round(x);
  return Math.abs(x % 1) === 0.5 && nearest % 2 !== 0 ? nearest - 1 : nearest;
}

/** Of sums of up to 200 numbers of up to 49, and of 16,389 of them. */
const [ROUNDING, ROUNDING_OF_MANY] = [5e-3, 0.5];

describe('acc::int8_matmul', () => {
  it('is the product of the rounded rows and columns, in each orientation', () => {
    fc.assert(
      fc.property(cases, (some) => {
        const given = { ...some, stochastic: '' as const };
        using factors = factorsOf(given);
        expect(errorOf(run(factors, given), factors, given)).toBeLessThan(ROUNDING);
      }),
      { numRuns: 60 },
    );
  });

  // Without the instructions, both are the plain code.
  it('has the same bits by instructions and without them', () => {
    using found = hasProducts();
    expect(found.read()[0]).toBe(
      cpuHas('avx512f', 'avx512bw', 'avx512dq', 'avx512vl', 'avx512_vnni') ? 1 : 0,
    );
    fc.assert(
      fc.property(cases, fc.constantFrom('float32', 'bfloat16'), (given, dtype) => {
        using factors = factorsOf(given);
        expect(run(factors, given, dtype)).toEqual(run(factors, given, dtype, true));
      }),
      { numRuns: 60 },
    );
  });

  // So large that several threads divide the work, where the CPU has the instructions.
  it.each([false, true])('has the same bits on one and on two threads, transposed: %s', (isTurned) => {
    const given: Case = {
      ...{ m: 513, k: 300, n: 600, transposeA: isTurned, transposeB: isTurned, dtypeA: 'float32' },
      ...{ dtypeB: 'bfloat16', hasBias: true, activation: 'relu', stochastic: 'a', seed: 3 },
    };
    using factors = factorsOf(given);
    const expected = run(factors, given, 'float32', true);
    const threads = numThreads();
    try {
      for (const count of [1, 2]) {
        setNumThreads(count);
        expect(Buffer.compare(bytesOf(run(factors, given)), bytesOf(expected))).toBe(0);
      }
    } finally {
      setNumThreads(threads);
    }
  });

  it('ends a sum of no products, as in the gradient of an empty batch', () => {
    using a = tensorFrom(new Float32Array(0), 'float32', [2, 0]);
    using b = tensorFrom(new Float32Array(0), 'float32', [0, 3]);
    using bias = tensorFrom(Float32Array.of(-1, 0.5, 2), 'float32', [3]);
    const multiply = (added: Tensor | null, activation: string, isPlain: boolean) => {
      using y = int8Matmul(a, b, added, false, false, activation, 'bfloat16', 'b', 0, isPlain);
      return [...(y.read('float32') as Float32Array)];
    };
    for (const isPlain of [false, true]) {
      expect(multiply(null, 'linear', isPlain)).toEqual([0, 0, 0, 0, 0, 0]);
      expect(multiply(bias, 'linear', isPlain)).toEqual([-1, 0.5, 2, -1, 0.5, 2]);
      expect(multiply(bias, 'relu', isPlain)).toEqual([0, 0.5, 2, 0, 0.5, 2]);
    }
  });

  it('adds more products than one sum of integers has', () => {
    const given: Case = {
      ...{
        m: 3,
        k: 16384 + 5,
        n: 17,
        transposeA: false,
        transposeB: true,
        dtypeA: 'float32',
        dtypeB: 'float32',
      },
      ...{ hasBias: false, activation: 'linear', stochastic: '', seed: 0 },
    };
    using factors = factorsOf(given);
    const result = run(factors, given);
    expect(result).toEqual(run(factors, given, 'float32', true));
    expect(errorOf(result, factors, given)).toBeLessThan(ROUNDING_OF_MANY);
  });

  it('rounds at random without bias, alike for one seed, whichever rows lie beside a row', () => {
    const k = 64;
    // Between the integers 12 and 13, after the largest.
    const row = [127, ...Array.from({ length: k - 1 }, (_, i) => 12.25 + i * 1e-4)];
    const unit = Float32Array.from({ length: k * k }, (_, i) => (i % (k + 1) === 0 ? 1 : 0));
    using b = tensorFrom(unit, 'float32', [k, k]);
    const rounded = (rows: number[][], seed: number) => {
      using a = tensorFrom(Float32Array.from(rows.flat()), 'float32', [rows.length, k]);
      using y = int8Matmul(a, b, null, false, false, 'linear', 'float32', 'a', seed, false);
      return y.read() as Float32Array;
    };
    const seeds = Array.from({ length: 200 }, (_, seed) => rounded([row], seed));
    const numbers = seeds.flatMap((values) => [...values.subarray(1)]);
    expect(new Set(numbers.map((x) => Math.round(x)))).toEqual(new Set([12, 13]));
    expect(numbers.reduce((sum, x) => sum + x, 0) / numbers.length).toBeCloseTo(12.25315, 1);
    expect(rounded([row], 7)).toEqual(seeds[7]);
    expect(rounded([row], 8)).not.toEqual(seeds[7]);
    const other = row.map((x) => -2 * x);
    expect(rounded([other, other, row], 7).subarray(2 * k)).toEqual(seeds[7]);
  });

  it.each([NaN, Infinity])('gives NaN for a row with %s, and for no other', (bad) => {
    using a = tensorFrom(Float32Array.of(1, bad, 1, 2), 'float32', [2, 2]);
    using b = tensorFrom(Float32Array.of(1, 1, 1, 1), 'float32', [2, 2]);
    for (const stochastic of ['', 'a']) {
      for (const isPlain of [false, true]) {
        using y = int8Matmul(a, b, null, false, false, 'linear', 'float32', stochastic, 0, isPlain);
        const [first, second, third, fourth] = y.read() as Float32Array;
        expect([first, second]).toEqual([NaN, NaN]);
        expect(third).toBeCloseTo(3, 1);
        expect(fourth).toBeCloseTo(3, 1);
      }
    }
  });

  it('gives 0 for factors of zeros, and nothing for no rows', () => {
    using zeros = tensorFrom(new Float32Array(6), 'float32', [2, 3]);
    using b = tensorFrom(new Float32Array(12).fill(1), 'float32', [3, 4]);
    using y = int8Matmul(zeros, b, null, false, false, 'linear', 'float32', 'a', 0, false);
    expect(y.read()).toEqual(new Float32Array(8));
    using none = tensorFrom(new Float32Array(0), 'float32', [0, 3]);
    using empty = int8Matmul(none, b, null, false, false, 'linear', 'float32', '', 0, false);
    expect(empty.shape).toEqual([0, 4]);
  });

  it('refuses what it cannot multiply', () => {
    using a = tensorFrom(new Float32Array(6), 'float32', [2, 3]);
    using b = tensorFrom(new Float32Array(6), 'float32', [3, 2]);
    using wide = convert(a, 'float64');
    using wideB = convert(b, 'float64');
    const multiply = (x: Tensor, y: Tensor, activation = 'linear') =>
      int8Matmul(x, y, null, false, false, activation, 'float32', '', 0, false);
    for (const call of [() => multiply(a, a), () => multiply(wide, wideB), () => multiply(a, b, 'tanh')]) {
      let failure: unknown;
      try {
        call().dispose();
      } catch (error) {
        failure = error;
      }
      expect(isAccError(failure, 'ACC_OPERATOR_FAILED')).toBe(true);
    }
  });
});

import * as tf from '@tensorflow/tfjs';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { numThreads, operator, operatorWithResults, setNumThreads, type Tensor } from '@acc/native';
import { cpuHas } from '@acc/testkit';
import type { AccBackend } from '../backend.js';
import { registerAccBackend } from '../register-backend.js';

// The operators of cpp/engine/kernels/attention/operator.cpp beside attention in float64.

const forward = operatorWithResults('acc::attention');
const backward = operatorWithResults('acc::attention_backward');
const castTo = operator('aten::_to_copy');
const transpose = operator('aten::transpose.int');

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});

interface Case {
  readonly batch: number;
  readonly keyHeads: number;
  /** Heads of q for each head of k. */
  readonly group: number;
  readonly queries: number;
  readonly keys: number;
  readonly width: number;
  readonly isCausal: boolean;
  readonly mask: 'none' | 'keys' | 'queries' | 'rows' | 'all';
  readonly isMaskShort: boolean;
  /** The number that hides a key. A finite one leaves no digit of a score. */
  readonly hidden: number;
  /** The standard deviation of the elements of q. */
  readonly size: number;
  /** Whether the heads of a token are side by side in memory. */
  readonly isTurned: boolean;
  readonly dtype: 'float32' | 'bfloat16';
}

const length = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 200 }));
const cases = fc.record<Case>({
  batch: fc.integer({ min: 1, max: 2 }),
  keyHeads: fc.integer({ min: 1, max: 2 }),
  group: fc.integer({ min: 1, max: 2 }),
  queries: length,
  keys: length,
  width: fc.constantFrom(8, 16, 32, 48, 64, 80, 128),
  isCausal: fc.boolean(),
  mask: fc.constantFrom('none', 'keys', 'queries', 'rows', 'all'),
  isMaskShort: fc.boolean(),
  hidden: fc.constantFrom(-Infinity, -1e12, -3e38),
  size: fc.constantFrom(1, 1, 30),
  isTurned: fc.boolean(),
  dtype: fc.constantFrom('float32', 'bfloat16'),
});

/** A tensor, and its elements in the order of `[batch, heads, length, width]`. */
interface Operand {
  readonly native: Tensor;
  readonly values: Float32Array;
}

const acc = (): AccBackend => tf.backend() as AccBackend;
const valuesOf = (native: Tensor): Float32Array =>
  acc().tensorOf(castTo(native, 'float32'), 'float32').dataSync<'float32'>();

function operand(x: tf.Tensor, dtype: Case['dtype'], isTurned: boolean): Operand {
  const inMemory = isTurned ? x.transpose([0, 2, 1, 3]) : x;
  const stored = castTo(acc().native(inMemory), dtype);
  const native = isTurned ? transpose(stored, 1, 2) : stored;
  return { native, values: valuesOf(native) };
}

function operandsOf({ batch, keyHeads, group, queries, keys, width, ...rest }: Case) {
  const { size, dtype, isTurned } = rest;
  const random = (shape: number[], seed: number, deviation = 1): tf.Tensor =>
    tf.randomNormal(shape, 0, deviation, 'float32', seed);
  const heads = keyHeads * group;
  const of = (shape: number[], seed: number, deviation?: number): Operand =>
    operand(random(shape, seed, deviation), dtype, isTurned);
  return {
    q: of([batch, heads, queries, width], 1, size),
    k: of([batch, keyHeads, keys, width], 2),
    v: of([batch, keyHeads, keys, width], 3),
    dy: of([batch, heads, queries, width], 4),
    mask: maskOf({ batch, keyHeads, group, queries, keys, width, ...rest }),
  };
}

/**
 * Hides about a sixth of the keys, and every key from the third query, and by -Infinity from the
 * fourth, where there are queries.
 */
function maskOf({ batch, keyHeads, group, queries, keys, ...rest }: Case): Operand | undefined {
  if (rest.mask === 'none') return undefined;
  const shapes = {
    keys: [batch, 1, 1, keys],
    queries: [1, 1, queries, keys],
    rows: [batch, 1, queries, 1],
    all: [batch, keyHeads * group, queries, keys],
  };
  const shape = shapes[rest.mask];
  const numbers = tf.randomNormal(shape, 0, 1, 'float32', 5);
  const isThird = tf.range(0, shape[2]!).equal(2).reshape([1, 1, -1, 1]);
  const isHidden = numbers.greater(1).logicalOr(isThird);
  const isFourth = tf.range(0, shape[2]!).equal(3).reshape([1, 1, -1, 1]);
  const hidden = tf.where(
    isFourth.logicalOr(tf.zeros(shape, 'bool')),
    tf.fill(shape, -Infinity),
    tf.fill(shape, rest.hidden),
  );
  const mask = tf.where(isHidden.logicalOr(isFourth), hidden, numbers);
  const { native } = operand(mask, rest.isMaskShort ? rest.dtype : 'float32', false);
  const all = acc().tensorOf(castTo(native, 'float32'), 'float32');
  const full = all.add(tf.zeros([batch, keyHeads * group, queries, keys]));
  return { native, values: full.dataSync<'float32'>() };
}

type Operands = ReturnType<typeof operandsOf>;

/** Elements in float64, and the largest sum of the magnitudes that were added for one of them. */
class Sum {
  readonly values: Float64Array;
  readonly #magnitudes: Float64Array;
  constructor(length: number) {
    this.values = new Float64Array(length);
    this.#magnitudes = new Float64Array(length);
  }
  /** Adds the row of `x` that starts at `from`, times a factor. */
  addRow(
    to: number,
    x: Float32Array,
    from: number,
    [factor, magnitude, width]: [number, number, number],
  ): void {
    for (let d = 0; d < width; d++) {
      this.values[to + d]! += factor * x[from + d]!;
      this.#magnitudes[to + d]! += magnitude * Math.abs(x[from + d]!);
    }
  }
  get magnitude(): number {
    return this.#magnitudes.reduce((a, b) => Math.max(a, b), 0);
  }
}

function dot(a: Float32Array, i: number, b: ArrayLike<number>, j: number, width: number): number {
  let sum = 0;
  for (let d = 0; d < width; d++) sum += a[i + d]! * b[j + d]!;
  return sum;
}

/** The sum of the magnitudes of the products in {@link dot}. */
function magnitudeOf(a: Float32Array, i: number, b: Float32Array, j: number, width: number): number {
  let sum = 0;
  for (let d = 0; d < width; d++) sum += Math.abs(a[i + d]! * b[j + d]!);
  return sum;
}

/** Attention and its gradients in float64. */
function expectedOf(given: Case, operands: Operands) {
  const { batch, keyHeads, group, queries, keys, width } = given;
  const { q, k, dy } = operands;
  const [output, dq] = [new Sum(q.values.length), new Sum(q.values.length)];
  const [dk, dv] = [new Sum(k.values.length), new Sum(k.values.length)];
  const sums = new Float64Array(batch * keyHeads * group * queries);
  let highest = 1;
  for (let row = 0; row < sums.length; row++) {
    const head = Math.floor(row / queries);
    const first = Math.floor(head / group) * keys;
    const { weights, logSum, magnitude: ofScores } = weightsOf(given, operands, row, first);
    highest = Math.max(highest, ofScores);
    sums[row] = logSum;
    const [at, { values }] = [row * width, operands.v];
    weights.forEach((p, j) => output.addRow(at, values, (first + j) * width, [p, p, width]));
    const all = dot(dy.values, at, output.values, at, width);
    weights.forEach((p, j) => {
      const key = (first + j) * width;
      const dweight = dot(dy.values, at, values, key, width);
      const factor = p * (dweight - all) * scaleOf(given);
      const magnitude = p * (Math.abs(dweight) + Math.abs(all)) * scaleOf(given);
      dv.addRow(key, dy.values, at, [p, p, width]);
      dq.addRow(at, k.values, key, [factor, magnitude, width]);
      dk.addRow(key, q.values, at, [factor, magnitude, width]);
    });
  }
  return { results: { output, dq, dk, dv }, sums, highest };
}

const scaleOf = ({ width }: Case): number => 1 / Math.sqrt(width);

/** The weights of the keys for a query, whose first key is the row `first` of k. */
function weightsOf(given: Case, { q, k, mask }: Operands, row: number, first: number) {
  const { queries, keys, width, isCausal } = given;
  const seen = isCausal ? Math.min(keys, (row % queries) + 1) : keys;
  let magnitude = 0;
  const scores = Array.from({ length: seen }, (_, j) => {
    const factors = [q.values, row * width, k.values, (first + j) * width, width] as const;
    magnitude = Math.max(magnitude, magnitudeOf(...factors) * scaleOf(given));
    const score = dot(...factors) * scaleOf(given);
    const added = mask ? mask.values[row * keys + j]! : 0;
    // A sum in float32 has no digit of the score.
    return added < -1e9 ? added : score + added;
  });
  const largest = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  if (largest === -Infinity) return { weights: scores.map(() => 0), logSum: 0, magnitude };
  const exponentials = scores.map((score) => Math.exp(score - largest));
  const sum = exponentials.reduce((a, b) => a + b, 0);
  return {
    weights: exponentials.map((x) => x / sum),
    // The highest number of a mask is taken off where it leaves no digit.
    logSum: (largest < -1e9 ? 0 : largest) + Math.log(sum),
    magnitude,
  };
}

/** Results of the two operators. */
function resultsOf(given: Case, { q, k, v, dy, mask }: Operands) {
  const settings = [given.isCausal, mask?.native ?? null, scaleOf(given)] as const;
  const [output, sums] = forward(q.native, k.native, v.native, ...settings) as Tensor[];
  const saved = [output, sums] as const;
  const [dq, dk, dv] = backward(dy.native, q.native, k.native, v.native, ...saved, ...settings) as Tensor[];
  const [y, ...all] = [output!, dq!, dk!, dv!, sums!].map(valuesOf);
  return { output: y!, dq: all[0]!, dk: all[1]!, dv: all[2]!, sums: all[3]! };
}

/** Results are rounded, and so is what the second products take. */
const ROUNDING = { float32: 1e-6, bfloat16: 2 ** -7 };
/** libtorch's exponentials, where they are used, are less exact in bfloat16. */
const ROUNDING_OF_SUMS = { float32: 1e-6, bfloat16: 2e-4 };
/** Errors of a score, relative to the magnitudes of its products, become relative errors of its weight. */
const ROUNDING_OF_SCORES = 2 ** -22;

function farthest(actual: Float32Array, expected: Float64Array): number {
  expect(actual).toHaveLength(expected.length);
  // A NaN is as far as can be.
  return actual.reduce((worst, x, i) => {
    const difference = Math.abs(x - expected[i]!);
    return difference <= worst ? worst : difference;
  }, 0);
}

describe('acc::attention and acc::attention_backward', () => {
  it('have the values of attention in float64, at any length, with masks, in groups of heads', () => {
    fc.assert(
      fc.property(cases, (given) =>
        tf.tidy(() => {
          const operands = operandsOf(given);
          const { results, sums, highest } = expectedOf(given, operands);
          const actual = resultsOf(given, operands);
          const tolerance = ROUNDING[given.dtype] + ROUNDING_OF_SCORES * highest;
          for (const name of ['output', 'dq', 'dk', 'dv'] as const) {
            const { values, magnitude } = results[name];
            const difference = farthest(actual[name], values);
            expect(difference, name).toBeLessThanOrEqual(tolerance * magnitude + 1e-30);
          }
          expect(farthest(actual.sums, sums)).toBeLessThanOrEqual(
            ROUNDING_OF_SUMS[given.dtype] + ROUNDING_OF_SCORES * highest,
          );
        }),
      ),
      { numRuns: 60 },
    );
  });

  it.each(['float32', 'bfloat16'] as const)('give the same bits on one thread and on two: %s', (dtype) => {
    const given: Case = {
      ...{ batch: 1, keyHeads: 3, group: 2, queries: 300, keys: 290, width: 16 },
      ...{ isCausal: true, mask: 'none', isMaskShort: false, hidden: 0, size: 1, isTurned: true, dtype },
    };
    const before = numThreads();
    try {
      const [one, two] = [1, 2].map((threads) => {
        setNumThreads(threads);
        return tf.tidy(() => resultsOf(given, operandsOf(given)));
      });
      expect(one).toEqual(two);
    } finally {
      setNumThreads(before);
    }
  });
});

it('has its own kernels where the CPU has the instructions', () => {
  const hasFastAttention = operatorWithResults('acc::has_fast_attention');
  const hasVectors = cpuHas('avx512f', 'avx512bw', 'avx512dq', 'avx512vl');
  expect(hasFastAttention('float32', 64)).toEqual([+hasVectors]);
  const hasBfloat16 = cpuHas('amx_bf16') || (hasVectors && cpuHas('avx512_bf16'));
  expect(hasFastAttention('bfloat16', 64)).toEqual([+hasBfloat16]);
});

import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { memoryStats, resetPeakMemory } from '@acc/native';
import { registerAccBackend } from '../register-backend.js';
import { expectSameAsCpu } from '../testing/compare.js';
import { secondGradients, valueAndGradients, wave } from '../testing/function-gradients.js';
import { scaledDotProductAttention, type AttentionOptions } from './scaled-dot-product-attention.js';

const [B, H, L, S, D] = [2, 4, 5, 7, 8];
type Inputs = [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D];

const inputs = (heads = H, keys = S, dimOfV = D): Inputs => [
  wave([B, H, L, D]) as tf.Tensor4D,
  wave([B, heads, keys, D], 1) as tf.Tensor4D,
  wave([B, heads, keys, dimOfV], 2) as tf.Tensor4D,
];

const attend =
  (options: () => AttentionOptions = () => ({})) =>
  (...xs: tf.Tensor[]): tf.Tensor =>
    scaledDotProductAttention(...(xs as Inputs), options());

/**
 * Hides key 1 from every query, keys 4 and above in batch 1, and every key from query 2 of batch 0.
 */
const isSeen = (b: number, query: number, key: number): boolean =>
  key !== 1 && !(b === 1 && key >= 4) && !(b === 0 && query === 2);

function maskOf(
  shape: readonly number[],
  value: (seen: boolean) => number,
  dtype: 'bool' | 'float32',
): tf.Tensor {
  const [batch, heads, queries, keys] = shape as [number, number, number, number];
  const values: number[] = [];
  for (let b = 0; b < batch; b++)
    for (let h = 0; h < heads; h++)
      for (let i = 0; i < queries; i++) for (let j = 0; j < keys; j++) values.push(value(isSeen(b, i, j)));
  return tf.tensor(values, [...shape], dtype);
}

const bools = (...shape: number[]) => maskOf(shape, Number, 'bool');
const numbers = (hidden: number, ...shape: number[]) =>
  maskOf(shape, (seen) => (seen ? 0.3 : hidden), 'float32');
const infinities = (...shape: number[]) => numbers(-Infinity, ...shape);
/** The lowest of float32. */
const LOWEST = -3.4028234663852886e38;

const CASES: Record<string, () => AttentionOptions> = {
  'by itself': () => ({}),
  'with a scale': () => ({ scale: 0.7 }),
  causal: () => ({ isCausal: true }),
  'with booleans': () => ({ mask: bools(B, 1, L, S) }),
  'with booleans of every head': () => ({ mask: bools(B, H, L, S) }),
  'with booleans of keys': () => ({ mask: bools(B, 1, 1, S) }),
  'with booleans of two dims': () => ({ mask: bools(1, 1, L, S).reshape([L, S]) }),
  'with -Infinity': () => ({ mask: infinities(B, 1, L, S) }),
  'with added numbers': () => ({ mask: wave([1, H, L, S], 9) }),
  'with -1e9': () => ({ mask: numbers(-1e9, B, 1, L, S) }),
  'with -1e30': () => ({ mask: numbers(-1e30, B, 1, L, S) }),
  'with the lowest number': () => ({ mask: numbers(LOWEST, B, 1, L, S) }),
  'causal with the lowest number': () => ({ isCausal: true, mask: numbers(LOWEST, B, 1, L, S) }),
  'causal with booleans': () => ({ isCausal: true, mask: bools(B, 1, L, S) }),
};

const TOLERANCE = { rtol: 1e-5, atol: 3e-6 };

describe('scaledDotProductAttention', () => {
  it.each(Object.entries(CASES))('has the values and gradients of tfjs operators: %s', async (_, options) => {
    await expectSameAsCpu(() => valueAndGradients(attend(options), inputs()), TOLERANCE);
    await expectSameAsCpu(() => valueAndGradients(attend(options), inputs(2)), TOLERANCE);
  });

  it.each(['causal', 'with booleans'])('has the second gradients of tfjs operators: %s', async (name) => {
    await expectSameAsCpu(() => secondGradients(attend(CASES[name]), inputs(2)), { rtol: 1e-4, atol: 1e-4 });
  });

  it('accepts more queries than keys, another dim of v, no keys and no queries', async () => {
    await expectSameAsCpu(() => valueAndGradients(attend(CASES.causal), inputs(H, 3)), TOLERANCE);
    await expectSameAsCpu(() => valueAndGradients(attend(), inputs(H, S, 3)), TOLERANCE);
    await expectSameAsCpu(() => {
      const [q, k, v] = inputs();
      return scaledDotProductAttention(q.slice([0], [-1, -1, 0, -1]), k, v);
    });
  });

  it('accepts transposed heads and strided rows', async () => {
    const turned = (...xs: tf.Tensor[]) =>
      attend(CASES.causal)(...xs.map((x) => tf.transpose(x, [0, 2, 1, 3])));
    await expectSameAsCpu(
      () =>
        valueAndGradients(
          turned,
          [0, 1, 2].map((seed) => wave([B, L, H, D], seed)),
        ),
      TOLERANCE,
    );
    const apart = (...xs: tf.Tensor[]) => attend()(...xs.map((x) => tf.transpose(x, [0, 1, 3, 2])));
    await expectSameAsCpu(
      () =>
        valueAndGradients(
          apart,
          [0, 1, 2].map((seed) => wave([B, H, D, L], seed)),
        ),
      TOLERANCE,
    );
  });

  it('has a gradient of the mask', async () => {
    const ofMask = (mask: tf.Tensor) => attend(() => ({ mask }))(...inputs());
    await expectSameAsCpu(() => valueAndGradients(ofMask, [wave([1, H, L, S], 9)]), TOLERANCE);
    await expectSameAsCpu(() => valueAndGradients(ofMask, [infinities(B, 1, L, S)]), TOLERANCE);
    await tf.setBackend('cpu');
    const [, gradient] = valueAndGradients(ofMask, [infinities(B, 1, L, S)]);
    expect(gradient!.isFinite().all().dataSync()[0]).toBe(1);
  });

  it('gives zeros, without a gradient, for a query that sees no key', async () => {
    registerAccBackend();
    await tf.setBackend('acc');
    for (const mask of [bools(B, 1, L, S), infinities(B, 1, L, S)]) {
      const [value, dq] = valueAndGradients(
        attend(() => ({ mask })),
        inputs(),
      );
      for (const x of [value!, dq!]) {
        expect(x.slice([0, 0, 2], [1, H, 1]).abs().sum().dataSync()[0]).toBe(0);
        expect(Number.isFinite(x.sum().dataSync()[0])).toBe(true);
      }
    }
  });

  it('drops weights, and keeps the mean', async () => {
    await tf.setBackend('acc');
    const q = tf.zeros<tf.Rank.R4>([1, 64, 32, 8]);
    const v = tf.ones<tf.Rank.R4>([1, 64, 16, 8]);
    const dropped = scaledDotProductAttention(q, v, v, { dropout: 0.25 });
    const { mean, variance } = tf.moments(dropped);
    expect(mean.dataSync()[0]).toBeCloseTo(1, 1);
    // The variance of the sum of 16 weights of 1/16: p / ((1 − p) · 16).
    expect(variance.dataSync()[0]).toBeCloseTo(0.25 / 0.75 / 16, 2);
  });

  it.each([true, false])('needs memory linear in the length (causal: %s)', async (isCausal) => {
    registerAccBackend();
    await tf.setBackend('acc');
    const peakAt = (length: number): number => {
      const xs = [0, 1, 2].map((seed) => wave([1, 2, length, 16], seed));
      resetPeakMemory();
      const before = memoryStats().allocatedBytes;
      tf.tidy(
        () =>
          void valueAndGradients(
            attend(() => ({ isCausal })),
            xs,
          ),
      );
      const peak = memoryStats().peakAllocatedBytes - before;
      tf.dispose(xs);
      return peak;
    };
    peakAt(64);
    const [short, long] = [peakAt(512), peakAt(2048)];
    expect(long).toBeLessThan(4.2 * short);
    // A single matrix of scores would take 32 MiB.
    expect(long).toBeLessThan(2 * 2048 * 2048 * 4);
  });

  it.each<[string, () => unknown, string]>([
    [
      'rank 3',
      () => attend()(tf.ones([2, 3, 4]), tf.ones([2, 3, 4]), tf.ones([2, 3, 4])),
      'ACC_SHAPE_MISMATCH',
    ],
    ['heads that divide not', () => attend()(...inputs(3)), 'ACC_SHAPE_MISMATCH'],
    [
      'a mask of another length',
      () => attend(() => ({ mask: bools(B, 1, L, 3) }))(...inputs()),
      'ACC_SHAPE_MISMATCH',
    ],
    [
      'a mask of rank 3',
      () => attend(() => ({ mask: tf.ones([1, L, S]) }))(...inputs()),
      'ACC_SHAPE_MISMATCH',
    ],
    [
      'integers as mask',
      () => attend(() => ({ mask: tf.ones([L, S], 'int32') }))(...inputs()),
      'ACC_DTYPE_UNSUPPORTED',
    ],
    ['dropout of 1', () => attend(() => ({ dropout: 1 }))(...inputs()), 'ACC_INVALID_ARGUMENT'],
    [
      'an unknown option',
      () => attend(() => ({ causal: true }) as object)(...inputs()),
      'ACC_UNKNOWN_OPTION',
    ],
  ])('refuses %s', (_, run, code) => {
    expect(run).toThrow(expect.objectContaining({ code }));
  });
});

import * as tf from '@tensorflow/tfjs';
import { afterEach, describe, expect, it } from 'vitest';
import type { CompiledStep, CompileOptions } from '@acc/compile';
import { memoryStats, resetPeakMemory } from '@acc/native';
import { Accelerator } from '../accelerator.js';

let accelerator: Accelerator;
afterEach(() => accelerator.freeMemory());

// Large enough that elementwise results of plain steps wait until they are read.
const [B, T, H, D, LAYERS] = [4, 128, 2, 32, 3];
const C = H * D;

interface Block {
  readonly qkv: tf.Variable<tf.Rank.R2>;
  readonly out: tf.Variable<tf.Rank.R2>;
  readonly up: tf.Variable<tf.Rank.R2>;
  readonly down: tf.Variable<tf.Rank.R2>;
}

function createBlock(seed: number): Block {
  const matrix = (rows: number, columns: number, i: number) =>
    tf.variable(tf.randomNormal<tf.Rank.R2>([rows, columns], 0, 0.1, 'float32', 10 * seed + i));
  return {
    qkv: matrix(C, 3 * C, 1),
    out: matrix(C, C, 2),
    up: matrix(C, 4 * C, 3),
    down: matrix(4 * C, C, 4),
  };
}

function normalized(x: tf.Tensor2D): tf.Tensor2D {
  const { mean, variance } = tf.moments(x, -1, true);
  return x.sub(mean).div(variance.add(1e-5).sqrt());
}

function attention(x: tf.Tensor2D, qkv: tf.Variable<tf.Rank.R2>): tf.Tensor2D {
  const [q, k, v] = tf
    .split(tf.matMul(x, qkv as tf.Tensor as tf.Tensor2D), 3, -1)
    .map((part) => part.reshape([B, T, H, D]).transpose<tf.Tensor4D>([0, 2, 1, 3])) as [
    tf.Tensor4D,
    tf.Tensor4D,
    tf.Tensor4D,
  ];
  const scores = tf.matMul(q, k, false, true).mul(1 / Math.sqrt(D));
  return tf
    .matMul(tf.softmax(scores), v)
    .transpose([0, 2, 1, 3])
    .reshape([B * T, C]);
}

/** The tanh form. */
const gelu = (x: tf.Tensor2D): tf.Tensor2D =>
  x.mul(0.5).mul(
    x
      .add(x.pow(3).mul(0.044715))
      .mul(Math.sqrt(2 / Math.PI))
      .tanh()
      .add(1),
  );

function transformer(x: tf.Tensor2D, blocks: readonly Block[]): tf.Tensor2D {
  const times = (a: tf.Tensor2D, b: tf.Variable<tf.Rank.R2>) =>
    tf.matMul(a, b as tf.Tensor as tf.Tensor2D) as tf.Tensor2D;
  let h = x;
  for (const { qkv, out, up, down } of blocks) {
    h = h.add(times(attention(normalized(h), qkv), out));
    h = h.add(times(gelu(times(normalized(h), up)), down));
  }
  return normalized(h);
}

interface Trained {
  readonly losses: readonly number[];
  readonly weights: readonly number[][];
  /** In addition to weights and arguments. */
  readonly peakBytes: number;
  /** As {@link peakBytes}, of the first steps, of which two are recorded. */
  readonly firstPeakBytes: number;
  readonly explanation: string | undefined;
}

/** Trains a transformer in plain operators. `options` are undefined for steps that are not compiled. */
async function train(mixedPrecision: 'no' | 'bf16', options?: CompileOptions): Promise<Trained> {
  accelerator = await Accelerator.create({ engine: 'acc', seed: 1, mixedPrecision });
  const blocks = Array.from({ length: LAYERS }, (_, i) => createBlock(i));
  const variables = blocks.flatMap((block) => Object.values(block) as tf.Variable[]);
  const [, optimizer] = accelerator.prepare(variables, tf.train.adam(0.01));
  const plain = (x: tf.Tensor2D): tf.Scalar =>
    optimizer.minimize(() => transformer(x, blocks).sub(x).square().mean().asScalar(), true)!;
  const step = options ? accelerator.compile(plain, options) : plain;
  const x = tf.randomNormal<tf.Rank.R2>([B * T, C], 0, 1, 'float32', 99);
  const losses: number[] = [];
  const before = memoryStats().allocatedBytes;
  const takeSteps = (count: number) => {
    for (let i = 0; i < count; i++) losses.push(tf.tidy(() => step(x).dataSync()[0]!));
  };
  resetPeakMemory();
  takeSteps(6);
  const firstPeakBytes = memoryStats().peakAllocatedBytes - before;
  resetPeakMemory();
  takeSteps(2);
  const compiled = options && (step as CompiledStep<[tf.Tensor2D], tf.Scalar>);
  if (compiled) expect(compiled.replays).toBe(5);
  const trained = {
    losses,
    weights: variables.map((variable) => [...variable.dataSync()]),
    peakBytes: memoryStats().peakAllocatedBytes - before,
    firstPeakBytes,
    explanation: compiled?.explain(),
  };
  compiled?.dispose();
  tf.dispose([variables, x]);
  accelerator.freeMemory();
  return trained;
}

describe.each(['no', 'bf16'] as const)(
  'a transformer in plain operators, mixed precision %s',
  (precision) => {
    it('needs at most the memory of plain steps, except where each call is made by itself', async () => {
      const plain = await train(precision);
      const ratioOf = ({ peakBytes }: Trained) => peakBytes / plain.peakBytes;
      const compiled = await train(precision, {});
      expect(ratioOf(compiled)).toBeLessThanOrEqual(1.02);
      const exact = await train(precision, { fuse: 'exact' });
      expect(ratioOf(exact)).toBeLessThanOrEqual(1.02);
      expect(ratioOf(await train(precision, { fuse: true }))).toBeLessThanOrEqual(1.02);
      const single = await train(precision, { fuse: false });
      // It keeps what plain steps compute again.
      expect(ratioOf(single)).toBeGreaterThan(1.05);
      // Results also wait in the steps that are recorded.
      for (const { firstPeakBytes } of [compiled, exact]) {
        expect(firstPeakBytes / plain.firstPeakBytes).toBeLessThanOrEqual(1.05);
      }
      for (const { losses, weights } of [compiled, exact, single]) {
        expect(losses).toEqual(plain.losses);
        expect(weights).toEqual(plain.weights);
      }
      expect(compiled.explanation).toMatch(
        /The option fuse is 'plain'.*\n[^]*calls run as \d+ fused programs/,
      );
      expect(compiled.explanation).not.toMatch(/after the pass 'merge/);
    });
  },
);

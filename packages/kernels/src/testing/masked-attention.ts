import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, expect } from 'vitest';
import type { Fusion, Recording } from '@acc/contract';
import type { AccBackend } from '../backend.js';
import { StepRecorder } from '../recording/recorder.js';
import { registerAccBackend } from '../register-backend.js';

// Attention with masks of any form, for tests.

export const [B, H, T, D] = [2, 3, 40, 16] as const;
const SEEDS = [1, 2, 3, 4];

/** Makes `acc` the backend of the tests in a file. Returns what gives its recorder. */
export function useRecorder(): () => StepRecorder {
  let recorder: StepRecorder;
  beforeAll(async () => {
    registerAccBackend();
    await tf.setBackend('acc');
    recorder = new StepRecorder(tf.backend() as AccBackend);
  });
  return () => recorder;
}

export type Step = (args: readonly tf.Tensor[]) => tf.Tensor[];

/** The attention, and what its gradients give to q, k and v. `apply` masks scores; further arguments are its. */
export const stepOf =
  (apply: (scores: tf.Tensor, ...further: tf.Tensor[]) => tf.Tensor): Step =>
  ([q, k, v, dy, ...further]) => {
    const attend = (...[a, b, c]: tf.Tensor[]): tf.Tensor =>
      tf.matMul(tf.softmax(apply(tf.matMul(a!, b!, false, true).mul(D ** -0.5), ...further)), c!);
    const { value, grads } = tf.valueAndGrads(attend)([q!, k!, v!], dy);
    return [value, ...grads];
  };

/** Random booleans, of which each row has a true one and a false one. */
export function conditions(shape: number[], seed: number): tf.Tensor {
  const random = tf.randomUniform(shape, 0, 1, 'float32', seed).less(0.6);
  const places = tf.range(0, shape.at(-1)!);
  return random.logicalOr(places.equal(0)).logicalAnd(places.notEqual(1));
}

export const argumentsOf = (seed: number): tf.Tensor[] =>
  SEEDS.map((i) => tf.randomNormal([B, H, T, D], 0, 1, 'float32', seed * i));

export interface Replayed {
  readonly values: Float32Array[];
  readonly explanation: string;
}

/** The results of a replay, with other arguments than the step was recorded with. */
export function replayed(
  recorder: StepRecorder,
  step: Step,
  fusion: Fusion,
  further: { readonly recorded: tf.Tensor[]; readonly replayed: tf.Tensor[] } = {
    recorded: [],
    replayed: [],
  },
): Replayed {
  return tf.tidy(() => {
    const args = [...argumentsOf(1), ...further.recorded];
    const recording = recorder.record(args, () => tf.tidy(() => step(args))).recording as Recording;
    recording.seal(fusion);
    const results = recording.replay([...argumentsOf(100), ...further.replayed]) as tf.Tensor[];
    const values = results.map((x) => x.dataSync<'float32'>());
    const { explanation } = recording;
    recording.dispose();
    return { values, explanation };
  });
}

/** Expects the same numbers but for sums in another order: the tolerance is relative to the largest. */
export function expectNear(
  actual: readonly Float32Array[],
  expected: readonly Float32Array[],
  tolerance = 2e-6,
): void {
  for (const [i, values] of expected.entries()) {
    const largest = Math.max(...values.map(Math.abs));
    const difference = Math.max(...values.map((value, j) => Math.abs(value - actual[i]![j]!)));
    expect(difference / largest).toBeLessThan(tolerance);
  }
}

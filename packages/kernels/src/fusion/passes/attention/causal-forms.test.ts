import * as tf from '@tensorflow/tfjs';
import { beforeAll, expect, it } from 'vitest';
import type { Fusion, Recording } from '@acc/contract';
import type { AccBackend } from '../../../backend.js';
import { StepRecorder } from '../../../recording/recorder.js';
import { registerAccBackend } from '../../../register-backend.js';

// The usual forms of a causal mask, made within a step and outside of it.

let recorder: StepRecorder;
beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  recorder = new StepRecorder(tf.backend() as AccBackend);
});

const [B, H, T, D] = [2, 3, 40, 16] as const;
const SEEDS = [1, 2, 3, 4];

type Masked = (scores: tf.Tensor, mask: tf.Tensor) => tf.Tensor;
type Form = readonly [name: string, make: () => tf.Tensor, apply: Masked];

const seen = (): tf.Tensor => tf.linalg.bandPart(tf.ones([T, T]), -1, 0);
const isLater = (): tf.Tensor => tf.range(0, T).expandDims(1).less(tf.range(0, T));
const choose = (hidden: number): tf.Tensor => tf.where(seen().cast('bool'), tf.scalar(0), tf.scalar(hidden));
const add: Masked = (scores, mask) => scores.add(mask);

const FORMS: readonly Form[] = [
  ['a band, scaled by the step', seen, (scores, mask) => scores.add(mask.sub(1).mul(1e9))],
  ['a band with dims for batch and head', () => seen().reshape([1, 1, T, T]).sub(1).mul(1e9), add],
  ['a mask of each sample', () => tf.tile(choose(-1e9).reshape([1, 1, T, T]), [B, 1, 1, 1]), add],
  ['a choice of 0 and -1e9', () => choose(-1e9), add],
  ['a triangle of -Infinity', () => choose(-Infinity), add],
  ['an array of numbers', () => tf.tensor(choose(-Infinity).arraySync()), (scores, mask) => mask.add(scores)],
  ['a mask that is subtracted', seen, (scores, mask) => scores.sub(mask.neg().add(1).mul(1e9))],
  [
    'a boolean mask',
    () => seen().cast('bool'),
    (scores, mask) => tf.where(mask, scores, tf.fill(scores.shape, -1e9)),
  ],
  [
    'a boolean mask, beside a number',
    () => seen().cast('bool').expandDims(0),
    (scores, mask) => tf.where(mask, scores, tf.scalar(-1e9)),
  ],
  ['the keys that come later', isLater, (scores, mask) => tf.where(mask, tf.scalar(-Infinity), scores)],
];

type Step = (args: readonly tf.Tensor[]) => tf.Tensor[];

/** The attention, and what its gradients give to q, k and v. */
const stepOf =
  (apply: (scores: tf.Tensor) => tf.Tensor): Step =>
  ([q, k, v, dy]) => {
    const attend = (...[a, b, c]: tf.Tensor[]): tf.Tensor =>
      tf.matMul(tf.softmax(apply(tf.matMul(a!, b!, false, true).mul(D ** -0.5))), c!);
    const { value, grads } = tf.valueAndGrads(attend)([q!, k!, v!], dy);
    return [value, ...grads];
  };

const argumentsOf = (seed: number): tf.Tensor[] =>
  SEEDS.map((i) => tf.randomNormal([B, H, T, D], 0, 1, 'float32', seed * i));

function replayed(step: Step, fusion: Fusion): { values: Float32Array[]; explanation: string } {
  return tf.tidy(() => {
    const args = argumentsOf(1);
    const recording = recorder.record(args, () => tf.tidy(() => step(args))).recording as Recording;
    recording.seal(fusion);
    const results = recording.replay(argumentsOf(100)) as tf.Tensor[];
    const values = results.map((x) => x.dataSync<'float32'>());
    const { explanation } = recording;
    recording.dispose();
    return { values, explanation };
  });
}

/** Relative to the largest element, for sums in another order. */
const TOLERANCE = 2e-6;

function expectNear(actual: readonly Float32Array[], expected: readonly Float32Array[]): void {
  for (const [i, values] of expected.entries()) {
    const largest = Math.max(...values.map(Math.abs));
    const difference = Math.max(...values.map((value, j) => Math.abs(value - actual[i]![j]!)));
    expect(difference / largest).toBeLessThan(TOLERANCE);
  }
}

function expectCausal(step: Step): void {
  const plain = tf.tidy(() => step(argumentsOf(100)).map((x) => x.dataSync<'float32'>()));
  expect(replayed(step, 'plain').values).toEqual(plain);
  expect(replayed(step, 'exact').values).toEqual(plain);
  const { values, explanation } = replayed(step, true);
  expect(explanation).toContain(
    `1 × flash attention of float32[${[B, H, T, D].join()}], causal, forward and backward`,
  );
  expect(explanation).not.toMatch(/bmm|softmax|where|band/);
  expectNear(values, plain);
}

it.each(FORMS)('a causal mask from outside gives causal attention: %s', (_, make, apply) => {
  const mask = tf.keep(tf.tidy(make));
  expectCausal(stepOf((scores) => apply(scores, mask)));
  mask.dispose();
});

// A step that reads an array is not recorded.
const OF_STEPS = FORMS.filter(([name]) => name !== 'an array of numbers');

it.each(OF_STEPS)('a causal mask of the step gives causal attention: %s', (_, make, apply) => {
  expectCausal(stepOf((scores) => apply(scores, make())));
});

it.each<[string, () => tf.Tensor, Masked, RegExp]>([
  [
    'a condition that hides other keys',
    () => tf.linalg.bandPart(tf.ones([T, T]), 5, 5).cast('bool'),
    (scores, mask) => tf.where(mask, scores, tf.scalar(-1e9)),
    /a condition that is no causal mask/,
  ],
  [
    'a choice of numbers that hide nothing',
    () => seen().cast('bool'),
    (scores, mask) => tf.where(mask, scores, tf.scalar(-3)),
    /a condition that is no causal mask/,
  ],
  [
    'a second mask',
    () => seen().cast('bool'),
    (scores, mask) => tf.where(mask, scores.add(choose(-1e9)), tf.scalar(-1e9)),
    /more than one mask/,
  ],
  [
    'a scale after the mask',
    () => seen().cast('bool'),
    (scores, mask) => tf.where(mask, scores, tf.scalar(-1e9)).mul(0.5),
    /its mask is multiplied/,
  ],
  ['a difference', () => tf.ones([T, T]), (scores, mask) => scores.sub(mask), /no causal mask is subtracted/],
])('keeps attention with %s', (_, make, apply, reason) => {
  const mask = tf.keep(tf.tidy(make));
  const step = stepOf((scores) => apply(scores, mask));
  const { values, explanation } = replayed(step, true);
  expect(explanation).toMatch(reason);
  expect(explanation).not.toContain('flash');
  expectNear(values, replayed(step, 'exact').values);
  mask.dispose();
});

it.each<[string, Masked]>([
  ['added', (scores, mask) => scores.add(mask)],
  ['subtracted', (scores, mask) => scores.sub(mask)],
  ['chosen', (scores, mask) => tf.where(mask.add(1).cast('bool'), scores, tf.scalar(-1e9))],
])('one number for all queries and keys is no causal mask: %s', (_, apply) => {
  const mask = tf.keep(tf.zeros([1, 1, 1]));
  const step = stepOf((scores) => apply(scores, mask));
  const { values, explanation } = replayed(step, true);
  expect(explanation).not.toContain('causal, ');
  expectNear(values, replayed(step, 'exact').values);
  mask.dispose();
});

it('a mask of each head that hides keys by head is not causal, though it has as many elements', () => {
  const [q, k] = [tf.randomNormal([B, T, T, D]), tf.randomNormal([B, T, T, D])];
  const mask = tf.keep(choose(-1e9).reshape([T, 1, T]));
  const step: Step = ([a, b]) => [tf.matMul(tf.softmax(tf.matMul(a!, b!, false, true).add(mask)), b!)];
  const recording = recorder.record([q, k], () => tf.tidy(() => step([q, k]))).recording as Recording;
  recording.seal(true);
  expect(recording.explanation).toContain('with a mask, forward alone');
  const results = recording.replay([q, k]) as tf.Tensor[];
  expectNear(
    results.map((x) => x.dataSync<'float32'>()),
    step([q, k]).map((x) => x.dataSync<'float32'>()),
  );
  recording.dispose();
});

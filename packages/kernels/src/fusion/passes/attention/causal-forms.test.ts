import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import type { Recording } from '@acc/contract';
import {
  argumentsOf,
  B,
  D,
  expectNear,
  H,
  replayed,
  stepOf,
  T,
  type Step,
  useRecorder,
} from '../../../testing/masked-attention.js';

// The usual forms of a causal mask, made within a step and outside of it.

const recorder = useRecorder();

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
  [
    'a factor and a difference, as in GPT-2',
    seen,
    (scores, mask) => scores.mul(mask).sub(mask.neg().add(1).mul(1e10)),
  ],
  ['a factor and a sum', seen, (scores, mask) => mask.sub(1).mul(1e10).add(mask.mul(scores))],
  ['the keys that come later', isLater, (scores, mask) => tf.where(mask, tf.scalar(-Infinity), scores)],
];

function expectCausal(step: Step): void {
  const plain = tf.tidy(() => step(argumentsOf(100)).map((x) => x.dataSync<'float32'>()));
  expect(replayed(recorder(), step, 'plain').values).toEqual(plain);
  expect(replayed(recorder(), step, 'exact').values).toEqual(plain);
  const { values, explanation } = replayed(recorder(), step, true);
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
    'a choice of numbers that hide nothing',
    () => seen().cast('bool'),
    (scores, mask) => tf.where(mask, scores, tf.scalar(-3)),
    /what takes the place of hidden scores is no constant of -1e8 or less/,
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
  ['a factor alone', seen, (scores, mask) => scores.mul(mask), /multiplied by a mask, and none is added/],
  [
    'a factor and a mask of other keys',
    seen,
    (scores, mask) => scores.mul(mask).add(tf.linalg.bandPart(mask, 5, 5).sub(1).mul(1e10)),
    /multiplied by a mask, and none is added/,
  ],
  ['a difference', () => tf.ones([T, T]), (scores, mask) => scores.sub(mask), /no causal mask is subtracted/],
])('keeps attention with %s', (_, make, apply, reason) => {
  const mask = tf.keep(tf.tidy(make));
  const step = stepOf((scores) => apply(scores, mask));
  const { values, explanation } = replayed(recorder(), step, true);
  expect(explanation).toMatch(reason);
  expect(explanation).not.toContain('flash');
  expectNear(values, replayed(recorder(), step, 'exact').values);
  mask.dispose();
});

it.each<[string, Masked]>([
  ['added', (scores, mask) => scores.add(mask)],
  ['subtracted', (scores, mask) => scores.sub(mask)],
  ['chosen', (scores, mask) => tf.where(mask.add(1).cast('bool'), scores, tf.scalar(-1e9))],
])('one number for all queries and keys is no causal mask: %s', (_, apply) => {
  const mask = tf.keep(tf.zeros([1, 1, 1]));
  const step = stepOf((scores) => apply(scores, mask));
  const { values, explanation } = replayed(recorder(), step, true);
  expect(explanation).not.toContain('causal, ');
  expectNear(values, replayed(recorder(), step, 'exact').values);
  mask.dispose();
});

it('a mask of each head that hides keys by head is not causal, though it has as many elements', () => {
  const [q, k] = [tf.randomNormal([B, T, T, D]), tf.randomNormal([B, T, T, D])];
  const mask = tf.keep(choose(-1e9).reshape([T, 1, T]));
  const step: Step = ([a, b]) => [tf.matMul(tf.softmax(tf.matMul(a!, b!, false, true).add(mask)), b!)];
  const recording = recorder().record([q, k], () => tf.tidy(() => step([q, k]))).recording as Recording;
  recording.seal(true);
  expect(recording.explanation).toContain('with a mask, forward alone');
  const results = recording.replay([q, k]) as tf.Tensor[];
  expectNear(
    results.map((x) => x.dataSync<'float32'>()),
    step([q, k]).map((x) => x.dataSync<'float32'>()),
  );
  recording.dispose();
});

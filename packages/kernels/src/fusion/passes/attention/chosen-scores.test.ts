import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import {
  argumentsOf,
  B,
  conditions,
  expectNear,
  H,
  replayed,
  stepOf,
  T,
  useRecorder,
} from '../../../testing/masked-attention.js';

// Conditions that the step takes, and that choose which scores are seen: masks of padding, windows.

const recorder = useRecorder();

type Apply = (scores: tf.Tensor, condition: tf.Tensor) => tf.Tensor;

const HIDDEN = -1e9;
const choose: Apply = (scores, condition) => tf.where(condition, scores, tf.scalar(HIDDEN));
const chooseNot: Apply = (scores, condition) => tf.where(condition, tf.scalar(HIDDEN), scores);

const FORMS: readonly [name: string, shape: number[], apply: Apply][] = [
  ['keys of each sample', [B, 1, 1, T], choose],
  ['keys of each sample, to be hidden', [B, 1, 1, T], chooseNot],
  ['queries and keys', [T, T], choose],
  ['queries and keys of each head', [H, T, T], choose],
  ['all', [B, H, T, T], choose],
  ['a negation', [B, 1, 1, T], (scores, condition) => choose(scores, condition.logicalNot())],
  ['a negation, to be hidden', [T, T], (scores, condition) => chooseNot(scores, condition.logicalNot())],
  ['rows of keys', [B, T], (scores, condition) => choose(scores, condition.reshape([B, 1, 1, T]))],
  [
    'two conditions',
    [T, T],
    (scores, condition) => choose(scores, condition.logicalAnd(condition.transpose())),
  ],
  [
    'the lowest number',
    [B, 1, 1, T],
    (scores, condition) => tf.where(condition, scores, tf.fill(scores.shape, -3.4e38)),
  ],
  ['-Infinity', [B, 1, 1, T], (scores, condition) => tf.where(condition, scores, tf.scalar(-Infinity))],
];

it.each(FORMS)('a condition that is an argument gives attention with a mask: %s', (_, shape, apply) => {
  tf.tidy(() => {
    const step = stepOf((scores, condition) => apply(scores, condition!));
    const further = { recorded: [conditions(shape, 7)], replayed: [conditions(shape, 8)] };
    const plain = step([...argumentsOf(100), ...further.replayed]).map((x) => x.dataSync<'float32'>());
    expect(replayed(recorder(), step, 'exact', further).values).toEqual(plain);
    const { values, explanation } = replayed(recorder(), step, true, further);
    expect(explanation).toMatch(/1 × flash attention of .*, with a mask, forward and backward/);
    expect(explanation).not.toMatch(/bmm|softmax|[^_]where/);
    expectNear(values, plain);
  });
});

it('keeps attention of which a condition chooses between two kinds of scores', () => {
  tf.tidy(() => {
    const other = stepOf((scores, condition) => tf.where(condition!, scores, scores.mul(-2)));
    const further = { recorded: [conditions([T, T], 7)], replayed: [conditions([T, T], 8)] };
    const { values, explanation } = replayed(recorder(), other, true, further);
    expect(explanation).toMatch(/what takes the place of hidden scores is no constant of -1e8 or less/);
    expectNear(values, replayed(recorder(), other, 'exact', further).values);
  });
});

import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import {
  argumentsOf,
  B,
  conditions,
  expectNear,
  replayed,
  stepOf,
  T,
  type Replayed,
  useRecorder,
} from '../../../testing/masked-attention.js';

// Queries that see no key: those of padding, for example.

const recorder = useRecorder();

type Apply = (scores: tf.Tensor, sees: tf.Tensor) => tf.Tensor;

/** The second query sees no key. */
const blind = (): tf.Tensor => tf.logicalAnd(tf.range(0, T).notEqual(1).expandDims(1), conditions([T, T], 9));

/** A sample that is padded on the left, as booleans of keys and as those of queries and keys. */
const paddedKeys = (): tf.Tensor => tf.greaterEqual(tf.range(0, T), tf.tensor([0, 7], [B, 1, 1, 1]));
const paddedPairs = (): tf.Tensor => tf.logicalAnd(paddedKeys(), paddedKeys().transpose([0, 1, 3, 2]));

function outcomes(apply: Apply, sees: () => tf.Tensor): Replayed & { readonly plain: Float32Array[] } {
  return tf.tidy(() => {
    const step = stepOf((scores, given) => apply(scores, given!));
    const result = replayed(recorder(), step, true, {
      recorded: [conditions([T, T], 7)],
      replayed: [sees()],
    });
    expect(result.explanation).toMatch(/flash attention .*, with a mask, forward and backward/);
    return { ...result, plain: step([...argumentsOf(100), sees()]).map((x) => x.dataSync<'float32'>()) };
  });
}

const adding =
  (hidden: number): Apply =>
  (scores, sees) =>
    scores.add(sees.cast('float32').sub(1).mul(-hidden));

it.each([-1e8, -1e9, -1e10, -1e30, -3.4e38])('have equal weights if %s is added to all', (hidden) => {
  const { values, plain } = outcomes(adding(hidden), blind);
  expectNear(values, plain);
});

it.each([-1e6, -1e8, -1e9])(
  'have the weights of sums in float32 if %s is added to large scores',
  (hidden) => {
    const { values, plain } = outcomes((scores, sees) => adding(hidden)(scores.mul(20), sees), blind);
    expectNear(values, plain, 5e-6);
  },
);

it('have equal weights and no gradient if a condition hides all, as in the plain step', () => {
  const { values, plain } = outcomes(
    (scores, sees) => tf.where(sees, scores.mul(20), tf.scalar(-1e9)),
    blind,
  );
  // libtorch's attention, which computes without AVX-512, is off by 7e-6 here.
  expectNear(values, plain, 1e-5);
});

it('are NaN beside -Infinity, as in the plain step', () => {
  const { values, plain } = outcomes((scores, sees) => tf.where(sees, scores, tf.scalar(-Infinity)), blind);
  for (const [i, expected] of plain.entries()) {
    expect(Array.from(values[i]!, Number.isNaN)).toEqual(Array.from(expected, Number.isNaN));
  }
});

it('of padding have equal weights in a padded sample', () => {
  tf.tidy(() => {
    const step = stepOf((scores, sees) => adding(-1e9)(scores, sees!));
    const further = { recorded: [paddedPairs()], replayed: [paddedPairs()] };
    const { values, explanation } = replayed(recorder(), step, true, further);
    expect(explanation).toContain('flash attention');
    const plain = step([...argumentsOf(100), paddedPairs()]).map((x) => x.dataSync<'float32'>());
    expectNear(values, plain);
  });
});

import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import { nameCutFeatures } from './name-cut-features.js';

/** The error of a layer for 6 features that gets an input of another shape. */
function errorOf(shape: number[]): unknown {
  const model = tf.sequential({
    layers: [tf.layers.dense({ units: 1, inputShape: [...shape.slice(1, -1), 6] })],
  });
  try {
    return model.apply(tf.ones(shape));
  } catch (error) {
    return error;
  } finally {
    model.dispose();
  }
}

it('a layer that gets a piece of its features says so, and keeps the error of tfjs', () => {
  const cause = errorOf([4, 3]);
  expect(nameCutFeatures(cause, 2)).toMatchObject({
    code: 'ACC_CONTEXT_FEATURES',
    details: { layer: expect.stringMatching(/^dense/) as string, shape: [4, 3] },
    cause,
  });
});

it.each([
  ['another length', [4, 3], 3],
  ['another dim', [4, 5, 3], 2],
])('%s is the error of tfjs', (_, shape, ranks) => {
  const error = errorOf(shape);
  expect(String(error)).toContain('incompatible with layer');
  expect(nameCutFeatures(error, ranks)).toBe(error);
});

it('other errors stay as they are', () => {
  const error = new Error('another');
  expect(nameCutFeatures(error, 2)).toBe(error);
});

import * as tf from '@tensorflow/tfjs';
import { getGradient, type GradConfig } from '@tensorflow/tfjs-core';
import { replaceGradients } from './replace.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

// tfjs's own gradients, before the replacement.
const names = ['Mean', 'Sum', 'Tile'] as const;
const own = new Map<string, GradConfig>(names.map((name) => [name, getGradient(name)]));

beforeAll(() => tf.setBackend('cpu'));
afterAll(() => own.forEach(use));

function use(config: GradConfig): void {
  tf.unregisterGradient(config.kernelName);
  tf.registerGradient(config);
}

const x = () => tf.sin(tf.range(0, 24)).reshape([2, 3, 4]);
const weights = (shape: number[]) => tf.cos(tf.range(0, tf.util.sizeFromShape(shape))).reshape(shape);
const weighted = (y: tf.Tensor) => tf.sum(tf.mul(y, weights(y.shape)));

const CASES: [string, (t: tf.Tensor) => tf.Tensor][] = [
  ['sum of all', (t) => tf.sum(t)],
  ['sum over one axis', (t) => weighted(tf.sum(t, 1))],
  ['sum over axes, dims kept', (t) => weighted(tf.sum(t, [0, -1], true))],
  ['mean of all', (t) => tf.mean(t)],
  ['mean over one axis', (t) => weighted(tf.mean(t, -1))],
  ['mean over axes, dims kept', (t) => weighted(tf.mean(t, [0, 2], true))],
  ['tile of rows', (t) => weighted(tf.tile(t, [2, 1, 3]))],
  ['tile of length 1', (t) => weighted(tf.tile(tf.sum(t, 1, true), [1, 5, 1]))],
  ['broadcastTo', (t) => weighted(tf.broadcastTo(tf.sum(t, 0), [2, 3, 4]))],
];

describe('gradients', () => {
  it('replace those of tfjs once', () => {
    replaceGradients();
    const ours = names.map((name) => getGradient(name));
    replaceGradients();
    expect(names.map((name) => getGradient(name))).toEqual(ours);
    expect(names.filter((name) => getGradient(name) !== own.get(name))).toEqual([...names]);
  });

  it.each(CASES)('equal those of tfjs: %s', (_, f) => {
    own.forEach(use);
    const expected = [...tf.grad(f)(x()).dataSync()];
    replaceGradients();
    const actual = [...tf.grad(f)(x()).dataSync()];
    expect(expected.some((value) => value !== 0)).toBe(true);
    actual.forEach((value, i) => expect(value).toBeCloseTo(expected[i]!, 6));
  });
});

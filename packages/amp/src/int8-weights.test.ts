import * as tf from '@tensorflow/tfjs-core';
import { afterEach, expect, it } from 'vitest';
import '@tensorflow/tfjs-backend-cpu';
import { Int8Weights } from './int8-weights.js';

afterEach(() => tf.disposeVariables());

const SHAPES: Readonly<Record<string, number[]>> = {
  'embed/embeddings': [200, 128],
  'attention/kernel': [128, 384],
  'attention/bias': [384],
  'narrow/kernel': [128, 64],
  'lstm/kernel': [128, 512],
  'lstm/recurrent_kernel': [128, 512],
  'conv/kernel': [3, 3, 128, 128],
  'mlp/kernel': [128, 128],
  'head/kernel': [128, 200],
};

function chosen(exclude?: string[]): string[] {
  const weights = new Int8Weights(exclude);
  weights.take(Object.entries(SHAPES).map(([name, shape]) => tf.variable(tf.zeros(shape), true, name)));
  const names = weights.chosen.map(({ name }) => name);
  tf.disposeVariables();
  return names;
}

it('leaves out the first and the last layer, small matrices, convolutions and recurrent layers', () => {
  expect(chosen()).toEqual(['attention/kernel', 'mlp/kernel']);
});

it('leaves out the patterns instead, if they are given', () => {
  const all = ['embed/embeddings', 'attention/kernel', 'narrow/kernel', 'mlp/kernel', 'head/kernel'];
  expect(chosen([])).toEqual(all);
  expect(chosen(['head', 'e*'])).toEqual(all.slice(1, 4));
  expect(chosen(['mlp/kernel'])).toEqual(all.filter((name) => name !== 'mlp/kernel'));
});

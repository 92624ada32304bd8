import * as tf from '@tensorflow/tfjs-core';
import { afterEach, expect, it } from 'vitest';
import '@tensorflow/tfjs-backend-cpu';
import { EightBitWeights } from './eight-bit-weights.js';

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

const taken = (weights: EightBitWeights, shapes: Readonly<Record<string, number[]>> = SHAPES) =>
  weights.take(Object.entries(shapes).map(([name, shape]) => tf.variable(tf.zeros(shape), true, name)));

function chosen(exclude?: string[]): string[] {
  const weights = new EightBitWeights(exclude);
  taken(weights);
  const names = weights.chosen.map(({ name }) => name);
  tf.disposeVariables();
  return names;
}

it('leaves out the first and the last matrix, small matrices, convolutions and recurrent layers', () => {
  expect(chosen()).toEqual(['attention/kernel', 'mlp/kernel']);
});

it('leaves out the patterns instead, if they are given', () => {
  const all = ['embed/embeddings', 'attention/kernel', 'narrow/kernel', 'mlp/kernel', 'head/kernel'];
  expect(chosen([])).toEqual(all);
  expect(chosen(['head', 'e*'])).toEqual(all.slice(1, 4));
  expect(chosen(['mlp/kernel'])).toEqual(all.filter((name) => name !== 'mlp/kernel'));
});

it('takes patterns of layers around a layer, and leaves out the number that tfjs appends to names', () => {
  const weights = new EightBitWeights(['head', 'block_0/*', 'lone/kernel', '**/c_fc']);
  const names = ['block_0/attn/q_proj/kernel', 'block_1/attn/q_proj/kernel', 'block_1/mlp/c_fc/kernel_2'];
  taken(
    weights,
    Object.fromEntries([...names, 'lone/kernel_1', 'head/kernel'].map((name) => [name, [9, 9]])),
  );
  expect(weights.chosen.map(({ name }) => name)).toEqual(['block_1/attn/q_proj/kernel']);
  expect(weights.unmatched).toBeUndefined();
});

it('forgets disposed weights', () => {
  const weights = new EightBitWeights([]);
  taken(weights);
  for (const weight of weights.chosen) weight.dispose();
  expect(weights.chosen).toEqual([]);
});

it('lists only some names in the error for a pattern without a match', () => {
  const weights = new EightBitWeights(['heat']);
  expect(weights.unmatched).toBeUndefined();
  taken(weights);
  const help = expect.stringContaining('embed/embeddings, attention/kernel, narrow/kernel and 2 more');
  expect(() => weights.requireMatches()).toThrowError(expect.objectContaining({ help }) as Error);
});

it('says why no weight is multiplied in 8 bits', () => {
  const note = (
    shapes: Readonly<Record<string, number[]>>,
    ...given: ConstructorParameters<typeof EightBitWeights>
  ) => {
    const weights = new EightBitWeights(...given);
    taken(weights, shapes);
    tf.disposeVariables();
    return weights.notes[0] ?? '';
  };
  const matrix = { 'mlp/kernel': [9, 9] };
  const none = 'No prepared weight is a matrix of a dense layer.';
  expect(note(matrix, undefined)).toContain('fewer than 128 rows or columns');
  expect(note(matrix, ['mlp'])).toContain('amp.exclude leaves out all: mlp/kernel.');
  expect(note({ 'conv/kernel': [3, 3, 9, 9] }, undefined)).toContain(none);
  expect(note({ 'embed/embeddings': [200, 128] }, [])).toContain(none);
  expect(note(matrix, [], () => true)).toContain(none);
  expect(note(matrix, [])).toBe('');
});

it('leaves weights that layers round to these layers, and says so', () => {
  const isRounded = ({ name }: tf.Variable) => name.startsWith('mlp/');
  const weights = new EightBitWeights(['mlp'], undefined, 'int8', isRounded);
  taken(weights, { 'mlp/kernel': [9, 9], 'mlp/kernel_scale': [1, 1, 9], 'head/kernel': [9, 9] });
  expect(weights.chosen.map(({ name }) => name)).toEqual(['head/kernel']);
  weights.requireMatches();
  expect(weights.notes).toEqual([expect.stringMatching(/prepareQat.*compute in bf16.*: mlp\.$/)]);
});

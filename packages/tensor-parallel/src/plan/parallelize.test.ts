import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { markOf } from '../marks.js';
import { parallelize, type ParallelPlan } from './parallelize.js';

beforeAll(() => tf.setBackend('cpu'));
afterEach(() => tf.disposeVariables());

const dense = (name: string, units: number, activation?: 'relu' | 'softmax') =>
  tf.layers.dense({ name, units, ...(activation && { activation }) });

function model(...more: tf.layers.Layer[]): tf.LayersModel {
  const embedding = tf.layers.embedding({ name: 'tokens', inputDim: 12, outputDim: 4, inputLength: 3 });
  return tf.sequential({ layers: [embedding, ...more] });
}

/** The dims along which the weights of a model are cut, by name. */
function dimsOf(given: tf.LayersModel): Record<string, number> {
  const marks = given.weights.flatMap((weight) => {
    const mark = markOf(weight.read() as tf.Variable);
    return mark ? [[weight.originalName, mark.dim] as const] : [];
  });
  return Object.fromEntries(marks);
}

describe('a plan by names', () => {
  it('is given once: the same again changes nothing, and another one is refused', () => {
    const given = parallelize(model(dense('in', 8), dense('out', 4)), { in: 'column' });
    const before = dimsOf(given);
    expect(dimsOf(parallelize(given, { in: 'column' }))).toEqual(before);
    expect(() => parallelize(given, { out: 'column' })).toThrowError(
      expect.objectContaining({
        code: 'ACC_TENSOR_PARALLEL_PLAN',
        message: expect.stringMatching(/another plan already: {"in":"column"}.*\n→ Give one plan/) as unknown,
      }),
    );
    expect(dimsOf(given)).toEqual(before);
  });

  it('may be corrected after an error, which leaves no marks', () => {
    const given = model(dense('in', 8), dense('out', 4));
    expect(() => parallelize(given, { in: 'column', tokens: 'row' })).toThrowError(/Embedding/);
    expect(dimsOf(given)).toEqual({});
    expect(dimsOf(parallelize(given, { out: 'row' }))).toEqual({ 'out/kernel': 0 });
  });

  it('cuts kernels, biases and tables', () => {
    const given = parallelize(model(dense('in', 8), dense('out', 4), dense('logits', 12)), {
      tokens: 'vocab',
      in: 'column',
      'o*t': 'row',
      logits: 'vocab',
    });
    expect(dimsOf(given)).toEqual({
      'tokens/embeddings': 0,
      'in/kernel': 1,
      'in/bias': 0,
      'out/kernel': 0,
      'logits/kernel': 1,
      'logits/bias': 0,
    });
  });

  it.each([
    ['two patterns for one layer', { 'd*': 'column', '*1': 'row' }, /'d1' matches 'd\*' and '\*1'/],
    ['a pattern that matches nothing', { 'x*': 'column' }, /no layer .* 'x\*'/],
    ['an unknown style', { d1: 'columns' }, /'d1' is 'columns'/],
    ['a layer that has no such cut', { tokens: 'row' }, /'tokens' is a Embedding/],
    ['the rows of a recurrent layer', { memory: 'row' }, /'memory' is a LSTM/],
    ['a layer of another class', { flat: 'column' }, /'flat' is a Flatten/],
    ['no plan', 'all', /the plan is all/],
  ])('refuses %s', (_, plan, message) => {
    const memory = tf.layers.lstm({ name: 'memory', units: 2, returnSequences: true });
    const given = model(memory, tf.layers.flatten({ name: 'flat' }), dense('d1', 4), dense('d2', 4));
    expect(() => parallelize(given, plan as ParallelPlan)).toThrowError(
      expect.objectContaining({
        code: 'ACC_TENSOR_PARALLEL_PLAN',
        message: expect.stringMatching(message) as unknown,
      }),
    );
  });
});

describe("the plan 'auto'", () => {
  it('cuts pairs of dense layers, embeddings, and the logits over their tokens', () => {
    const given = model(
      dense('a', 8, 'relu'),
      tf.layers.dropout({ rate: 0.1 }),
      dense('b', 4),
      dense('logits', 12),
    );
    expect(dimsOf(parallelize(given, 'auto'))).toEqual({
      'tokens/embeddings': 0,
      'a/kernel': 1,
      'a/bias': 0,
      'b/kernel': 0,
      'logits/kernel': 1,
      'logits/bias': 0,
    });
  });

  it('cuts the units of recurrent layers, gate by gate', () => {
    const given = model(
      tf.layers.bidirectional({
        layer: tf.layers.gru({ units: 4, returnSequences: true }) as tf.RNN,
        mergeMode: 'sum',
      }),
      tf.layers.lstm({ units: 4 }),
    );
    parallelize(given, 'auto');
    const marks = given.weights.map((weight) => {
      const { dim, times } = markOf(weight.read() as tf.Variable)!;
      return [weight.originalName.split('/').at(-1)!, dim, times];
    });
    const ofLayer = (gates: number) => [
      ['kernel', 1, gates],
      ['recurrent_kernel', 1, gates],
      ['bias', 0, gates],
    ];
    expect(marks).toEqual([['embeddings', 0, 1], ...ofLayer(3), ...ofLayer(3), ...ofLayer(4)]);
  });

  it('cuts no pair with a layer between that needs all columns', () => {
    const given = model(
      dense('a', 8, 'softmax'),
      dense('b', 4),
      tf.layers.layerNormalization(),
      dense('c', 5),
    );
    expect(dimsOf(parallelize(given, 'auto'))).toEqual({ 'tokens/embeddings': 0 });
  });

  it('leaves all parts of a layer whole if one of them cannot be cut', () => {
    const given = model(dense('a', 8), tf.layers.layerNormalization({ name: 'norm' }), dense('b', 4));
    const [, a, norm, b] = given.layers as [unknown, tf.layers.Layer, tf.layers.Layer, tf.layers.Layer];
    const parts = [
      { layer: a, cut: 'column' },
      { layer: b, cut: 'row' },
    ];
    Object.assign(norm, { parallelParts: () => parts });
    expect(dimsOf(parallelize(given, 'auto'))).toMatchObject({ 'a/kernel': 1, 'b/kernel': 0 });
    const other = model(dense('c', 8), tf.layers.layerNormalization({ name: 'other' }), dense('d', 4));
    const [, c, between, d] = other.layers;
    const local = [
      { layer: c, cut: 'column' },
      { layer: between, cut: 'column' },
      { layer: d, cut: 'row' },
    ];
    Object.assign(between!, { parallelParts: () => local });
    expect(dimsOf(parallelize(other, 'auto'))).toEqual({ 'tokens/embeddings': 0 });
  });

  it('cuts no pair of which another layer uses the middle', () => {
    const input = tf.input({ shape: [4] });
    const middle = dense('a', 8).apply(input) as tf.SymbolicTensor;
    const pair = dense('e', 4).apply(dense('d', 8).apply(input));
    const outputs = [dense('b', 4).apply(middle), dense('c', 4).apply(middle), pair] as tf.SymbolicTensor[];
    const ofPair = { 'd/kernel': 1, 'd/bias': 0, 'e/kernel': 0 };
    expect(dimsOf(parallelize(tf.model({ inputs: input, outputs }), 'auto'))).toEqual(ofPair);
  });
});

describe('a model in which auto finds nothing', () => {
  it('is refused, with the reason for each layer', () => {
    const given = tf.sequential({
      layers: [
        tf.layers.dense({ name: 'in', units: 4, inputShape: [3] }),
        tf.layers.batchNormalization({ name: 'norm' }),
        dense('out', 2, 'softmax'),
      ],
    });
    expect(() => parallelize(given, 'auto')).toThrowError(
      expect.objectContaining({
        code: 'ACC_TENSOR_PARALLEL_PLAN',
        message: expect.stringMatching(
          /'auto' finds nothing[^]*in: no dense layer[^]*norm: a BatchNormalization[^]*out: its softmax/,
        ) as unknown,
        help: expect.stringContaining('a plan by names') as unknown,
      }),
    );
  });

  it('is refused also without weights', () => {
    const given = tf.sequential({ layers: [tf.layers.flatten({ inputShape: [3, 2] })] });
    expect(() => parallelize(given, 'auto')).toThrowError(/No layer has weights/);
  });
});

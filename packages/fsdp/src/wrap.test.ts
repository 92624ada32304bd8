import * as tf from '@tensorflow/tfjs';
import { afterAll, describe, expect, it } from 'vitest';
import { resolveFsdpOptions, type FsdpOptions } from './options.js';
import { unitsOf } from './wrap.js';

const inner = tf.sequential({
  layers: [
    tf.layers.dense({ units: 8, inputShape: [4], name: 'first' }),
    tf.layers.dense({ units: 2, name: 'second' }),
  ],
});
const model = tf.sequential({
  layers: [
    tf.layers.embedding({ inputDim: 50, outputDim: 4, inputLength: 1, name: 'words' }),
    tf.layers.flatten(),
    inner,
  ],
});
const variables = model.trainableWeights.map((weight) => weight.read() as tf.Variable);
const units = (options: FsdpOptions, layers: readonly unknown[] = model.layers) =>
  unitsOf(variables, layers, resolveFsdpOptions(options)).map((unit) =>
    unit.map(({ size }) => size).join('+'),
  );

afterAll(() => tf.disposeVariables());

describe('units', () => {
  it('are the innermost layers', () => {
    expect(units({ bucketBytes: 1 })).toEqual(['200', '32+8', '16+2']);
  });

  it('of layers are joined up to a size in bytes', () => {
    expect(units({ bucketBytes: 4 * 58 })).toEqual(['200', '32+8+16+2']);
    expect(units({ bucketBytes: 4 * 57 })).toEqual(['200', '32+8', '16+2']);
    expect(units({})).toEqual(['200+32+8+16+2']);
  });

  it('are large layers and the rest', () => {
    expect(units({ wrap: { minParams: 40 } })).toEqual(['200', '32+8', '16+2']);
    // The inner model is large enough itself.
    expect(units({ wrap: { minParams: 40, exclude: ['fir*'] } })).toEqual(['200', '32+8+16+2']);
    expect(units({ wrap: { minParams: 40, exclude: ['**'] } })).toEqual(['200+32+8+16+2']);
    expect(units({ wrap: { minParams: 40, exclude: ['Embedding', 'Sequential'] } })).toEqual([
      '200+16+2',
      '32+8',
    ]);
  });

  it('are the layers that a function names, and the rest', () => {
    const wrap = (layer: object) => (layer as { name: string }).name === 'second';
    expect(units({ wrap })).toEqual(['200+32+8', '16+2']);
  });

  it('are lists of variables, and the rest', () => {
    expect(units({ wrap: [[variables[0]!, variables[2]!], [variables[1]!]] })).toEqual([
      '200+8',
      '32',
      '16+2',
    ]);
    expect(() => units({ wrap: [[variables[0]!], [variables[0]!]] })).toThrowError(/twice/);
  });

  it('of plain variables are the variables, or as many as have a size', () => {
    expect(units({ bucketBytes: 1 }, [])).toEqual(['200', '32', '8', '16', '2']);
    expect(units({ wrap: { minParams: 40 } }, [])).toEqual(['200', '32+8', '16+2']);
  });
});

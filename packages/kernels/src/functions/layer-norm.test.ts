import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { numThreads, setNumThreads } from '@acc/native';
import { expectSameAsCpu } from '../testing/compare.js';
import { secondGradients, valueAndGradients, wave } from '../testing/function-gradients.js';
import { layerNorm, type LayerNormOptions } from './layer-norm.js';
import { rmsNorm } from './rms-norm.js';

/** Axes of a tensor `[4, 3, 5]`, and the shape of gain and bias. */
const AXES: readonly (readonly [LayerNormOptions['axis'], number[]])[] = [
  [undefined, [5]],
  [
    [-2, -1],
    [3, 5],
  ],
  [1, [3]],
  [
    [2, 0],
    [5, 4],
  ],
];

const optionsOf = (axis: LayerNormOptions['axis']) => (axis === undefined ? {} : { axis });
const x = (): tf.Tensor => wave([4, 3, 5]).mul(2).add(0.5);
const TOLERANCE = { rtol: 1e-4, atol: 2e-5 };

describe.each(AXES)('over axis %j', (axis, shape) => {
  const options = optionsOf(axis);
  const [gain, bias] = [() => wave(shape, 1).add(1), () => wave(shape, 2)];

  it.each<[string, (...xs: tf.Tensor[]) => tf.Tensor, () => tf.Tensor[]]>([
    ['layerNorm', (t) => layerNorm(t, null, null, options), () => [x()]],
    ['layerNorm with gain', (t, g) => layerNorm(t, g, null, options), () => [x(), gain()]],
    ['layerNorm with bias', (t, b) => layerNorm(t, null, b, options), () => [x(), bias()]],
    ['layerNorm with both', (t, g, b) => layerNorm(t, g, b, options), () => [x(), gain(), bias()]],
    ['rmsNorm', (t) => rmsNorm(t, null, options), () => [x()]],
    ['rmsNorm with gain', (t, g) => rmsNorm(t, g, options), () => [x(), gain()]],
  ])('%s has the values and gradients of tfjs operators, first and second', async (_, f, inputs) => {
    await expectSameAsCpu(() => valueAndGradients(f, inputs()), TOLERANCE);
    await expectSameAsCpu(() => secondGradients(f, inputs()), { rtol: 1e-3, atol: 1e-3 });
  });
});

describe('normalisation', () => {
  it('follows the formula', async () => {
    await tf.setBackend('acc');
    const row = tf.tensor1d([1, 2, 3, 6]);
    const [layer, rms] = [layerNorm(row, null, null, { epsilon: 0.5 }), rmsNorm(row, null, { epsilon: 0.5 })];
    expect([...layer.dataSync()]).toEqual([-2, -1, 0, 3].map((v) => expect.closeTo(v / 2, 6)));
    expect([...rms.dataSync()]).toEqual([1, 2, 3, 6].map((v) => expect.closeTo(v / Math.sqrt(13), 6)));
  });

  it.each([1, 2, 3])('has the values and gradients of tfjs operators on %i threads', async (count) => {
    const threads = numThreads();
    setNumThreads(count);
    try {
      // A row more than two threads, or three, would share.
      const inputs = () => [wave([673, 301]).mul(2).add(0.5), wave([301], 1).add(1), wave([301], 2)];
      const f = (t: tf.Tensor, gain: tf.Tensor, bias: tf.Tensor) => layerNorm(t, gain, bias);
      await expectSameAsCpu(() => valueAndGradients(f, inputs()), { rtol: 1e-4, atol: 2e-3 });
    } finally {
      setNumThreads(threads);
    }
  });

  it('accepts a gradient that is an expanded view', async () => {
    const f = (t: tf.Tensor) => layerNorm(t, wave([5], 1)).sum();
    await expectSameAsCpu(() => tf.grad(f)(x()), TOLERANCE);
  });

  it.each([
    ['an unknown option', () => layerNorm(x(), null, null, { eps: 1 } as object), 'ACC_UNKNOWN_OPTION'],
    ['an axis too high', () => layerNorm(x(), null, null, { axis: 3 }), 'ACC_AXIS_OUT_OF_RANGE'],
    ['an axis twice', () => rmsNorm(x(), null, { axis: [1, -2] }), 'ACC_AXIS_OUT_OF_RANGE'],
    ['no axis', () => rmsNorm(x(), null, { axis: [] }), 'ACC_AXIS_OUT_OF_RANGE'],
    ['a gain of another shape', () => layerNorm(x(), tf.ones([3])), 'ACC_SHAPE_MISMATCH'],
    ['a bias of another shape', () => layerNorm(x(), null, tf.ones([1, 5])), 'ACC_SHAPE_MISMATCH'],
    ['integers', () => rmsNorm(x().toInt()), 'ACC_DTYPE_UNSUPPORTED'],
    ['numbers', () => layerNorm([1, 2] as unknown as tf.Tensor), 'ACC_INVALID_ARGUMENT'],
  ])('refuses %s', (_, run, code) => {
    expect(run).toThrow(expect.objectContaining({ code }));
  });
});

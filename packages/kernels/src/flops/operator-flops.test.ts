import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { scaledDotProductAttention } from '../functions/index.js';
import { tensorFrom } from '@acc/native';
import { registerAccBackend } from '../register-backend.js';
import { computingAgain } from './counting.js';
import { countFlops } from './flop-counter.js';
import { operatorFlops, type Flops } from './operator-flops.js';

registerAccBackend();
beforeAll(() => tf.setBackend('acc'));

const zeros = (...shape: number[]) => tf.zeros(shape);

const tensorsIn = (given: tf.TensorContainer): tf.Tensor[] =>
  given instanceof tf.Tensor ? [given] : Object.values(given as Record<string, tf.Tensor>);

/** Reads the results, because some operators run when their result is needed. */
function flopsOf(compute: () => tf.TensorContainer): Flops {
  const end = countFlops();
  let flops: Flops;
  try {
    const results = compute();
    for (const tensor of tensorsIn(results)) tensor.dataSync();
    tf.dispose(results);
  } finally {
    flops = end();
  }
  return flops;
}

/** Of the gradients of a sum with respect to all tensors. */
const ofGradients = (f: (...xs: tf.Tensor[]) => tf.Tensor, xs: tf.Tensor[]) =>
  flopsOf(() => tf.grads((...given: tf.Tensor[]) => f(...given).sum())(xs)).hardware -
  flopsOf(() => f(...xs)).hardware;

describe('products', () => {
  it.each<[string, () => tf.Tensor, number]>([
    ['[2,3] × [3,5]', () => tf.matMul(zeros(2, 3), zeros(3, 5)), 2 * 2 * 3 * 5],
    ['of transposed matrices', () => tf.matMul(zeros(3, 2), zeros(5, 3), true, true), 2 * 2 * 3 * 5],
    ['of batches', () => tf.matMul(zeros(7, 2, 3), zeros(7, 3, 5)), 7 * 2 * 2 * 3 * 5],
    ['of a batch and one matrix', () => tf.matMul(zeros(7, 2, 3), zeros(1, 3, 5)), 7 * 2 * 2 * 3 * 5],
    ['einsum', () => tf.einsum('bij,jk->bik', zeros(7, 2, 3), zeros(3, 5)), 7 * 2 * 2 * 3 * 5],
    ['elementwise operators', () => tf.add(zeros(2, 3), zeros(2, 3)).exp(), 0],
  ])('%s', (_, compute, expected) => {
    const { hardware, model, hidden } = flopsOf(compute);
    expect([hardware, model, hidden]).toEqual([expected, expected, 0]);
  });

  it('gradients of both factors are two products more', () => {
    const product = (a: tf.Tensor, b: tf.Tensor) => tf.matMul(a, b);
    expect(ofGradients(product as never, [zeros(2, 3), zeros(3, 5)])).toBe(2 * 2 * 2 * 3 * 5);
  });
});

it('each operator by which a product can be computed', () => {
  const matrix = (...shape: number[]) =>
    tensorFrom(new Float32Array(shape[0]! * shape[1]!), 'float32', shape);
  using a = matrix(2, 3);
  using b = matrix(3, 5);
  using turned = matrix(5, 3);
  using sum = matrix(2, 5);
  const calls: [string, Parameters<typeof operatorFlops>[1]][] = [
    ['aten::mm', [a, b]],
    ['aten::addmm', [sum, a, b]],
    ['aten::_int_mm', [a, b]],
    ['aten::_weight_int8pack_mm', [a, turned, sum]],
    ['aten::_weight_int4pack_mm_for_cpu', [a, turned, 32, sum]],
    ['aten::addmm_', [sum, a, b]],
    ['mkldnn::_linear_pointwise', [a, turned, null, 'none', [], null]],
    ['acc::matmul', [a, turned, null, false, true, 'linear']],
    ['acc::addmm_', [sum, a, turned, false, true]],
  ];
  for (const [name, args] of calls) expect(operatorFlops(name, args)?.model, name).toBe(60);
});

describe('convolutions', () => {
  const image = zeros(2, 9, 9, 16) as tf.Tensor4D;
  const filter = zeros(3, 3, 16, 32) as tf.Tensor4D;

  it.each<[string, (x: tf.Tensor4D, w: tf.Tensor4D) => tf.Tensor, number]>([
    ['same', (x, w) => tf.conv2d(x, w, 1, 'same'), 81],
    ['valid', (x, w) => tf.conv2d(x, w, 1, 'valid'), 49],
    ['strided', (x, w) => tf.conv2d(x, w, 2, 'same'), 25],
  ])('%s, forward, and both gradients', (_, convolve, places) => {
    const once = 2 * 2 * places * 9 * 16 * 32;
    expect(flopsOf(() => convolve(image, filter)).model).toBe(once);
    expect(ofGradients(convolve as never, [image, filter])).toBe(2 * once);
  });

  it('dilated', () => {
    const flops = flopsOf(() => tf.conv2d(image, filter, 1, 'valid', 'NHWC', 2));
    expect(flops.model).toBe(2 * 2 * 25 * 9 * 16 * 32);
  });

  it('each channel alone', () => {
    const depthwise = (x: tf.Tensor, w: tf.Tensor) =>
      tf.depthwiseConv2d(x as tf.Tensor4D, w as tf.Tensor4D, 1, 'same');
    const once = 2 * 2 * 81 * 9 * 16;
    expect(flopsOf(() => depthwise(image, zeros(3, 3, 16, 1))).model).toBe(once);
    expect(ofGradients(depthwise, [image, zeros(3, 3, 16, 1)])).toBe(2 * once);
  });

  it('that are measured to choose a kernel count once', () => {
    // Large enough for a choice, which is made in the first call.
    const x = zeros(2, 16, 16, 32) as tf.Tensor4D;
    const w = zeros(3, 3, 32, 32) as tf.Tensor4D;
    const once = 2 * 2 * 256 * 9 * 32 * 32;
    expect(flopsOf(() => tf.conv2d(x, w, 1, 'same')).hardware).toBe(once);
    expect(flopsOf(() => tf.conv2d(x, w, 1, 'same')).hardware).toBe(once);
  });
});

describe('attention', () => {
  const [q, k, v] = [zeros(2, 4, 6, 8), zeros(2, 2, 6, 8), zeros(2, 2, 6, 8)];
  const once = 2 * (2 * 4 * 6 * 6 * 8) * 2;
  const attend = (isCausal: boolean) => (q: tf.Tensor, k: tf.Tensor, v: tf.Tensor) =>
    scaledDotProductAttention(q as tf.Tensor4D, k as tf.Tensor4D, v as tf.Tensor4D, { isCausal });

  it('counts two products, of the heads of q', () => {
    expect(flopsOf(() => attend(false)(q, k, v))).toEqual({ hardware: once, model: once, hidden: 0 });
  });

  it('names the part that causal attention hides', () => {
    // Of 36 positions, 15 lie above the diagonal.
    const { model, hidden } = flopsOf(() => attend(true)(q, k, v));
    expect([model, hidden]).toEqual([once, expect.closeTo((once * 15) / 36, 3)]);
  });

  it('counts four products in backward, and a fifth only for the hardware', () => {
    const both = flopsOf(() => tf.grads(attend(true) as never)([q, k, v]));
    expect(both.model).toBe(3 * once);
    expect(both.hardware).toBe(3.5 * once);
  });
});

it.each([
  ['lstm', 4],
  ['gru', 3],
] as const)('the states of %s', (name, gates) => {
  const [batch, steps, inputs, units] = [3, 5, 7, 11];
  const layer = tf.layers[name]({
    units,
    inputShape: [steps, inputs],
    returnSequences: true,
  }) as tf.layers.Layer;
  const model = tf.sequential({ layers: [layer] });
  const expected = 2 * batch * steps * gates * units * (inputs + units);
  expect(flopsOf(() => model.predict(zeros(batch, steps, inputs)) as tf.Tensor).model).toBe(expected);
  const xs = zeros(batch, steps, inputs);
  const training = flopsOf(
    () => tf.variableGrads(() => (model.apply(xs, { training: true }) as tf.Tensor).sum()).grads,
  );
  // tfjs also asks for the gradient of the input.
  expect(training.model).toBe(3 * expected);
  model.dispose();
});

it('what is computed again counts for the hardware only', () => {
  const flops = flopsOf(() => computingAgain(() => tf.matMul(zeros(2, 3), zeros(3, 5))));
  expect(flops).toEqual({ hardware: 60, model: 0, hidden: 0 });
});

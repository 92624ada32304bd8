import * as tf from '@tensorflow/tfjs';
import { afterEach, expect, it } from 'vitest';
import { Accelerator } from '../accelerator.js';
import { relativeDifference } from './testing.js';

// The promise of `fuse: true` in float32: after one step, the loss and each gradient differ from those
// of the plain step by at most 1e-6 of their largest magnitude.
const TOLERANCE = 1e-6;

let accelerator: Accelerator;
afterEach(() => {
  accelerator.freeMemory();
  tf.disposeVariables();
});

interface Model {
  readonly variables: tf.Variable[];
  readonly loss: (x: tf.Tensor) => tf.Tensor;
  readonly shape: number[];
}

const random = (shape: number[], seed: number, scale = 1) =>
  tf.randomNormal(shape, 0, scale, 'float32', seed);
const variable = (shape: number[], seed: number) =>
  tf.variable(random(shape, seed, 1 / Math.sqrt(shape[0]!)));

function layerNorm(x: tf.Tensor, gain: tf.Tensor): tf.Tensor {
  const { mean, variance } = tf.moments(x, -1, true);
  return x.sub(mean).div(variance.add(1e-5).sqrt()).mul(gain);
}

const gelu = (x: tf.Tensor) =>
  x.mul(0.5).mul(
    x
      .add(x.pow(3).mul(0.044715))
      .mul(Math.sqrt(2 / Math.PI))
      .tanh()
      .add(1),
  );

const product = (x: tf.Tensor, w: tf.Tensor) => tf.matMul(x as tf.Tensor2D, w as tf.Tensor2D);

function transformer(): Model {
  const [B, T, H, D] = [2, 128, 4, 16];
  const C = H * D;
  const variables = [
    variable([C, 3 * C], 1),
    variable([C, 4 * C], 2),
    variable([4 * C, C], 3),
    tf.variable(tf.ones([C])),
    tf.variable(tf.ones([C])),
  ];
  const [qkv, up, down, gain1, gain2] = variables as [
    tf.Variable,
    tf.Variable,
    tf.Variable,
    tf.Variable,
    tf.Variable,
  ];
  const loss = (x: tf.Tensor) => {
    const [q, k, v] = tf
      .split(product(layerNorm(x, gain1), qkv), 3, -1)
      .map((part) => part.reshape([B, T, H, D]).transpose([0, 2, 1, 3]));
    const mask = tf.linalg
      .bandPart(tf.ones([T, T]), -1, 0)
      .sub(1)
      .mul(1e9);
    const scores = tf
      .matMul(q!, k!, false, true)
      .mul(1 / Math.sqrt(D))
      .add(mask);
    const mixed = tf
      .matMul(tf.softmax(scores), v!)
      .transpose([0, 2, 1, 3])
      .reshape([B * T, C]);
    const h = x.add(mixed);
    const out = h.add(product(gelu(product(layerNorm(h, gain2), up)), down));
    return tf.losses.softmaxCrossEntropy(
      tf.oneHot(tf.range(0, B * T, 1, 'int32').mod(tf.scalar(C, 'int32')), C),
      out,
    );
  };
  return { variables, loss, shape: [B * T, C] };
}

function mlp(): Model {
  const variables = [variable([64, 128], 1), tf.variable(tf.zeros([128])), variable([128, 64], 2)];
  const loss = (x: tf.Tensor) =>
    tf.losses.softmaxCrossEntropy(
      tf.oneHot(tf.range(0, 256, 1, 'int32').mod(tf.scalar(64, 'int32')), 64),
      product(product(x, variables[0]!).add(variables[1]!).sigmoid().mul(1.5).tanh(), variables[2]!),
    );
  return { variables, loss, shape: [256, 64] };
}

function convnet(): Model {
  const variables = [
    tf.variable(random([3, 3, 3, 16], 1, 0.2)),
    tf.variable(random([3, 3, 16, 16], 2, 0.1)),
    tf.variable(tf.ones([16])),
    variable([16 * 64, 10], 3),
  ];
  const loss = (x: tf.Tensor) => {
    const h = tf.conv2d(x as tf.Tensor4D, variables[0] as tf.Tensor as tf.Tensor4D, 1, 'same');
    const { mean, variance } = tf.moments(h, [0, 1, 2]);
    const normal = h.sub(mean).div(variance.add(1e-3).sqrt()).mul(variables[2]!).relu();
    const next = tf
      .conv2d(normal as tf.Tensor4D, variables[1] as tf.Tensor as tf.Tensor4D, 2, 'same')
      .softplus();
    const out = product(next.reshape([8, -1]), variables[3]!);
    return tf.losses.softmaxCrossEntropy(tf.oneHot(tf.range(0, 8, 1, 'int32'), 10), out);
  };
  return { variables, loss, shape: [8, 16, 16, 3] };
}

/** A recurrence in plain operators. */
function lstm(): Model {
  const [B, T, X, U] = [16, 12, 8, 32];
  const variables = [variable([X + U, 4 * U], 1), tf.variable(tf.zeros([4 * U])), variable([U, 4], 2)];
  const loss = (x: tf.Tensor) => {
    let [h, c]: [tf.Tensor, tf.Tensor] = [tf.zeros([B, U]), tf.zeros([B, U])];
    for (const xt of tf.unstack(x, 1)) {
      const gates = product(tf.concat([xt, h], 1), variables[0]!).add(variables[1]!);
      const [i, f, g, o] = tf.split(gates, 4, 1) as [tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor];
      c = f.add(1).sigmoid().mul(c).add(i.sigmoid().mul(g.tanh()));
      h = o.sigmoid().mul(c.tanh());
    }
    return product(h, variables[2]!).square().mean();
  };
  return { variables, loss, shape: [B, T, X] };
}

it.each([
  ['transformer', transformer],
  ['MLP', mlp],
  ['convnet', convnet],
  ['LSTM', lstm],
])('a %s has the loss and the gradients of the plain step', async (name, makeModel) => {
  accelerator = await Accelerator.create({ engine: 'acc', seed: 1 });
  const { variables, loss, shape } = makeModel();
  const plain = (x: tf.Tensor) => {
    const { value, grads } = tf.variableGrads(() => loss(x) as tf.Scalar, variables);
    return [value, ...variables.map((each) => grads[each.name]!)];
  };
  const step = accelerator.compile(plain, { fuse: true });
  const x = random(shape, 9);
  for (let i = 0; i < 3; i++) tf.dispose(step(x));
  const [fused, expected] = [step(x), tf.tidy(() => plain(x))];
  expect(step.replays).toBe(1);
  expect(step.explain()).toMatch(/calls run as [1-9]\d* fused programs/);
  fused.forEach((tensor, i) => {
    const difference = relativeDifference(tensor.dataSync(), expected[i]!.dataSync());
    expect(difference, `${name}, result ${i}`).toBeLessThanOrEqual(TOLERANCE);
  });
});

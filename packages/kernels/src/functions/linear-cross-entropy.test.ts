import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { liveTensors, memoryStats, resetPeakMemory } from '@acc/native';
import { expectClose } from '@acc/testkit';
import type { AccBackend } from '../backend.js';
import { registerAccBackend } from '../register-backend.js';
import { localShards } from '../shards/local-shards.js';
import { linearCrossEntropy } from './linear-cross-entropy.js';

beforeAll(() => registerAccBackend());

const wave = (shape: number[], seed: number) =>
  tf.tidy(() => tf.sin(tf.range(0, tf.util.sizeFromShape(shape)).mul(1.3).add(seed)).reshape(shape));

type Inputs = [hidden: tf.Tensor2D, weight: tf.Tensor2D, bias: tf.Tensor1D];
const inputsOf = (rows: number, width: number, vocabulary: number) =>
  [wave([rows, width], 1), wave([vocabulary, width], 2), wave([vocabulary], 3)] as Inputs;

/** By tfjs's operators, with whole logits. */
function plain(labels: tf.Tensor1D, ignoreLabel?: number) {
  return (hidden: tf.Tensor2D, weight: tf.Tensor2D, bias?: tf.Tensor1D): tf.Scalar => {
    const products = tf.matMul(hidden, weight, false, true);
    const logits = bias ? tf.add(products, bias) : products;
    const counts = tf.notEqual(labels, ignoreLabel ?? -1).toFloat();
    const targets = tf.oneHot(labels, weight.shape[0]).toFloat();
    const losses = tf.neg(tf.sum(tf.mul(targets, tf.logSoftmax(logits)), -1));
    return tf.div(tf.sum(tf.mul(losses, counts)), tf.sum(counts));
  };
}

const valuesOf = (value: tf.Tensor, grads: readonly tf.Tensor[]) =>
  [value, ...grads].map((x) => [...x.dataSync()]);

interface Case {
  readonly isBiased: boolean;
  readonly chunk?: number;
  readonly ignoreLabel?: number;
}

describe.each(['acc', 'cpu'])('linearCrossEntropy on %s', (backend) => {
  it('refuses a label outside of the vocabulary', async () => {
    await tf.setBackend(backend);
    const refused = backend === 'acc' ? { code: 'ACC_INDEX_OUT_OF_RANGE' } : { name: 'Error' };
    tf.tidy(() => {
      const [hidden, weight] = inputsOf(3, 5, 11);
      for (const label of [11, -1]) {
        const labels = tf.tensor1d([label, 0, 0], 'int32');
        const call = () => linearCrossEntropy(hidden, weight, labels).dataSync();
        expect(call).toThrow(expect.objectContaining(refused));
      }
    });
  });

  it.each<[string, Case]>([
    ['with bias', { isBiased: true }],
    ['without bias', { isBiased: false }],
    ['in chunks that do not divide the rows', { isBiased: true, chunk: 3 }],
    ['with rows that do not count', { isBiased: true, chunk: 2, ignoreLabel: 4 }],
    ['with a label outside of the vocabulary that does not count', { isBiased: true, ignoreLabel: -100 }],
  ])('has the value and gradients of tfjs: %s', async (_, { isBiased, ...options }) => {
    await tf.setBackend(backend);
    const before = [tf.memory().numTensors, liveTensors()];
    const isOutside = options.ignoreLabel === -100;
    tf.tidy(() => {
      const given = inputsOf(7, 5, 11).slice(0, isBiased ? 3 : 2) as Inputs;
      const labels = tf.tensor1d([0, 10, 4, isOutside ? -100 : 3, 4, 7, 9], 'int32');
      const own = (hidden: tf.Tensor2D, weight: tf.Tensor2D, bias?: tf.Tensor1D) =>
        tf.mul(linearCrossEntropy(hidden, weight, labels, { ...options, ...(bias && { bias }) }), 3);
      const byTfjs = (...all: Inputs) => tf.mul(plain(labels, options.ignoreLabel)(...all), 3);
      const found = tf.valueAndGrads(own as never)(given);
      const expected = tf.valueAndGrads(byTfjs as never)(given);
      expectClose(valuesOf(found.value, found.grads), valuesOf(expected.value, expected.grads), {
        rtol: 1e-5,
        atol: 1e-6,
      });
    });
    expect([tf.memory().numTensors, liveTensors()]).toEqual(before);
  });

  it('refuses second derivatives', async () => {
    await tf.setBackend(backend);
    tf.tidy(() => {
      const [hidden, weight, bias] = inputsOf(4, 3, 6);
      const labels = tf.tensor1d([5, 0, 2, 2], 'int32');
      const loss = (x: tf.Tensor) => linearCrossEntropy(x as tf.Tensor2D, weight, labels, { bias });
      const second = tf.grad((x) => tf.sum(tf.square(tf.grad(loss)(x))));
      expect(() => second(hidden)).toThrowError(expect.objectContaining({ code: 'ACC_NO_SECOND_GRADIENT' }));
    });
  });

  it('is 0, without gradients, if no row counts', async () => {
    await tf.setBackend(backend);
    tf.tidy(() => {
      const [hidden, weight] = inputsOf(2, 3, 4);
      const labels = tf.tensor1d([1, 1], 'int32');
      const { value, grad } = tf.valueAndGrad((x) =>
        linearCrossEntropy(x as tf.Tensor2D, weight, labels, { ignoreLabel: 1 }),
      )(hidden);
      expect([...value.dataSync(), ...grad.dataSync()].every((x) => x === 0)).toBe(true);
    });
  });
});

it('never holds the logits', async () => {
  await tf.setBackend('acc');
  const [rows, width, vocabulary, chunk] = [1024, 16, 4096, 32];
  const [hidden, weight] = inputsOf(rows, width, vocabulary);
  const labels = tf.tidy(() => tf.range(0, rows, 1, 'int32') as tf.Tensor1D);
  const peakOf = (loss: (hidden: tf.Tensor2D, weight: tf.Tensor2D) => tf.Scalar) => {
    const { allocatedBytes } = memoryStats();
    resetPeakMemory();
    tf.dispose(tf.tidy(() => tf.valueAndGrads(loss as never)([hidden, weight])) as never);
    return memoryStats().peakAllocatedBytes - allocatedBytes;
  };
  const logits = 4 * rows * vocabulary;
  expect(peakOf((x, w) => plain(labels)(x, w))).toBeGreaterThan(2 * logits);
  // Some tensors of the logits of a chunk, and three of the size of the gradients.
  const most = 6 * ((logits * chunk) / rows) + 3 * 4 * width * (rows + vocabulary);
  expect(most).toBeLessThan(logits / 3);
  expect(peakOf((x, w) => linearCrossEntropy(x, w, labels, { chunk }))).toBeLessThan(most);
  tf.dispose([hidden, weight, labels]);
});

it.each<[string, (inputs: Inputs, labels: tf.Tensor1D) => unknown, string]>([
  ['labels of another dtype', ([h, w], l) => linearCrossEntropy(h, w, l.toFloat()), 'ACC_DTYPE_UNSUPPORTED'],
  ['too few labels', ([h, w], l) => linearCrossEntropy(h, w, l.slice(1)), 'ACC_SHAPE_MISMATCH'],
  ['a weight of another width', ([h, w], l) => linearCrossEntropy(h, w.transpose(), l), 'ACC_SHAPE_MISMATCH'],
  [
    'a hidden tensor of three dims',
    ([h, w], l) => linearCrossEntropy(h.expandDims() as never, w, l),
    'ACC_SHAPE_MISMATCH',
  ],
  ['a short bias', ([h, w, b], l) => linearCrossEntropy(h, w, l, { bias: b.slice(1) }), 'ACC_SHAPE_MISMATCH'],
  ['a chunk of no rows', ([h, w], l) => linearCrossEntropy(h, w, l, { chunk: 0 }), 'ACC_INVALID_OPTION'],
  [
    'an unknown option',
    ([h, w], l) => linearCrossEntropy(h, w, l, { chunks: 2 } as never),
    'ACC_UNKNOWN_OPTION',
  ],
])('linearCrossEntropy refuses %s', async (_, act, code) => {
  await tf.setBackend('acc');
  tf.tidy(() => {
    const labels = tf.tensor1d([0, 1], 'int32');
    expect(() => act(inputsOf(2, 3, 4), labels)).toThrowError(expect.objectContaining({ code }));
  });
});

it('linearCrossEntropy refuses a weight of which ranks have rows', async () => {
  await tf.setBackend('acc');
  const backend = tf.backend() as AccBackend;
  const join = () => {
    throw new Error('nothing reads the whole weight');
  };
  const shards = localShards(backend, { count: 2, index: 0, join });
  tf.tidy(() => {
    const [hidden, weight] = inputsOf(2, 3, 4);
    const { dataId, dtype, shape } = weight;
    backend.incRef(dataId);
    const layout = { kind: 'rows', outer: 1, length: 2 } as const;
    const info = shards.hold({ shape: [8, 3], dtype, layout }, { dataId, dtype, shape });
    const sharded = tf.engine().makeTensorFromTensorInfo(info, backend) as tf.Tensor2D;
    const act = () => linearCrossEntropy(hidden, sharded, tf.tensor1d([0, 1], 'int32'));
    expect(act).toThrowError(expect.objectContaining({ code: 'ACC_STRATEGY_CANNOT' }));
  });
});

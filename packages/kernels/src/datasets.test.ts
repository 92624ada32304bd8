import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { registerAccBackend } from './register-backend.js';

type Row = { xs: tf.Tensor; ys: number };

/** 20 samples in the form that most pipelines make: records of numbers and tensors. */
const samples = () =>
  tf.data.generator(function* () {
    for (let i = 0; i < 20; i++) yield { xs: tf.tensor1d([i, i + 0.5]), ys: i % 3 };
  }) as unknown as tf.data.Dataset<tf.TensorContainerObject>;

const PIPELINES: Readonly<Record<string, () => tf.data.Dataset<tf.TensorContainer>>> = {
  'batch, the last one short': () => samples().batch(6),
  'map over batches': () => {
    const scale = (batch: tf.TensorContainer) => {
      const { xs, ys } = batch as unknown as Row;
      return { xs: tf.mul(xs, 2), labels: tf.oneHot(tf.cast(ys, 'int32'), 3) };
    };
    return samples().batch(4).map(scale);
  },
  'filter, take, skip, repeat': () =>
    samples()
      .filter((row) => (row as unknown as Row).ys !== 1)
      .skip(2)
      .take(5)
      .repeat(2)
      .batch(3),
  'shuffle with a seed, prefetched': () => samples().shuffle(8, 'seed').prefetch(2).batch(5),
  'mapAsync, that reads its tensors': () =>
    samples().mapAsync(async (row) => {
      const { xs, ys } = row as unknown as Row;
      const [first] = await xs.data();
      return { sum: tf.sum(xs), first: first!, ys };
    }),
  'concatenated and zipped': () => {
    const numbers = tf.data.array<number>([1, 2, 3]).concatenate(tf.data.array<number>([4, 5]));
    return tf.data.zip({ number: numbers, row: samples() }).batch(2);
  },
  'of strings': () => tf.data.array(['a', 'b', 'é']).batch(2),
};

/** All values of a pipeline in order, copied off its backend. */
async function collect(make: () => tf.data.Dataset<tf.TensorContainer>, backend: string): Promise<unknown[]> {
  expect(await tf.setBackend(backend)).toBe(true);
  const before = tf.memory();
  const seen: unknown[] = [];
  await make().forEachAsync((element) => {
    seen.push(plain(element));
    tf.dispose(element);
  });
  const { numTensors, numDataBuffers } = tf.memory();
  seen.push({ left: [numTensors - before.numTensors, numDataBuffers - before.numDataBuffers] });
  return seen;
}

function plain(element: unknown): unknown {
  if (element instanceof tf.Tensor)
    return { dtype: element.dtype, shape: element.shape, values: element.arraySync() };
  if (typeof element !== 'object' || element === null) return element;
  return Object.fromEntries(Object.entries(element).map(([name, value]) => [name, plain(value)]));
}

registerAccBackend();

describe('tf.data on acc', () => {
  it.each(Object.entries(PIPELINES))(
    'yields the same values as on cpu, without a leak: %s',
    async (_, make) => {
      const expected = await collect(make, 'cpu');
      expect(expected.length).toBeGreaterThan(2);
      expect(await collect(make, 'acc')).toEqual(expected);
    },
  );

  it('feeds fitDataset and evaluateDataset', async () => {
    const losses = async (backend: string) => {
      await tf.setBackend(backend);
      const model = tf.sequential({
        layers: [tf.layers.dense({ units: 3, inputShape: [2], kernelInitializer: 'ones' })],
      });
      model.compile({ optimizer: tf.train.sgd(0.001), loss: 'sparseCategoricalCrossentropy' });
      const data = () =>
        samples()
          .batch(5)
          .map((batch) => {
            const { xs, ys } = batch as unknown as Row;
            return { xs, ys: tf.expandDims(tf.cast(ys as never, 'float32'), 1) };
          }) as unknown as tf.data.Dataset<{ xs: tf.Tensor; ys: tf.Tensor }>;
      const { history } = await model.fitDataset(data(), { epochs: 2, verbose: 0, validationData: data() });
      const evaluated = (await model.evaluateDataset(data() as never, {})) as tf.Scalar;
      const all = [history['loss'], history['val_loss'], evaluated.dataSync()[0]].flat();
      evaluated.dispose();
      model.dispose();
      return all as number[];
    };
    const expected = await losses('cpu');
    const actual = await losses('acc');
    actual.forEach((loss, i) => expect(loss).toBeCloseTo(expected[i]!, 5));
    expect(actual).toHaveLength(5);
  });
});

import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { expectClose } from '@acc/testkit';
import { SelfAttention } from './cases/attention.js';

beforeAll(() => {
  registerAccBackend();
  tf.serialization.registerClass(SelfAttention);
});

/** A model store as a program would write it for its own files. */
class Store implements tf.io.IOHandler {
  #artifacts: tf.io.ModelArtifacts | undefined;

  save = (artifacts: tf.io.ModelArtifacts): Promise<tf.io.SaveResult> => {
    // The model passes through bytes and JSON, as through a file.
    const weightData = new Uint8Array(tf.io.CompositeArrayBuffer.join(artifacts.weightData)).slice().buffer;
    const { weightData: _, ...rest } = artifacts;
    this.#artifacts = { ...(JSON.parse(JSON.stringify(rest)) as tf.io.ModelArtifacts), weightData };
    return Promise.resolve({ modelArtifactsInfo: { dateSaved: new Date(), modelTopologyType: 'JSON' } });
  };

  load = (): Promise<tf.io.ModelArtifacts> => Promise.resolve(this.#artifacts!);
}

/** Layers with weights, with statistics, with an activation by name, and a user's own layer. */
function makeModel(): tf.LayersModel {
  const glorot = (seed: number) => tf.initializers.glorotNormal({ seed });
  return tf.sequential({
    layers: [
      tf.layers.conv1d({ inputShape: [6, 3], filters: 4, kernelSize: 2, kernelInitializer: glorot(1) }),
      tf.layers.batchNormalization(),
      new SelfAttention({ units: 4 }),
      tf.layers.lstm({ units: 3, kernelInitializer: glorot(2), recurrentInitializer: glorot(3) }),
      tf.layers.dense({ units: 2, activation: 'softmax', kernelInitializer: glorot(4) }),
    ],
  });
}

const xs = () => tf.sin(tf.range(0, 4 * 18)).reshape([4, 6, 3]);
const ys = () => tf.oneHot(tf.tensor1d([0, 1, 1, 0], 'int32'), 2);

const compile = (model: tf.LayersModel): void =>
  model.compile({ optimizer: tf.train.adam(0.01), loss: 'categoricalCrossentropy' });

async function train(model: tf.LayersModel, steps: number): Promise<number[]> {
  const [x, y] = [xs(), ys()];
  const losses: number[] = [];
  for (let step = 0; step < steps; step++) losses.push((await model.trainOnBatch(x, y)) as number);
  tf.dispose([x, y]);
  return losses;
}

const predict = (model: tf.LayersModel): number[] =>
  tf.tidy(() => (model.predict(xs()) as tf.Tensor).dataSync() as never as number[]);

const weights = (model: tf.LayersModel): number[][] => model.getWeights().map((w) => [...w.dataSync()]);

async function trained(): Promise<tf.LayersModel> {
  const model = makeModel();
  compile(model);
  await train(model, 3);
  return model;
}

const BACKENDS = ['acc', 'cpu'];

describe('a model', () => {
  it.each(BACKENDS.flatMap((from) => BACKENDS.map((to) => [from, to] as const)))(
    'saved on %s and loaded on %s has the same weights, and continues training',
    async (from, to) => {
      await tf.setBackend(from);
      const model = await trained();
      const store = new Store();
      await model.save(store, { includeOptimizer: true });
      const kept = { weights: weights(model), predictions: predict(model) };
      const losses = await train(model, 3);

      await tf.setBackend(to);
      const loaded = await tf.loadLayersModel(store);
      expect(weights(loaded)).toEqual(kept.weights);
      expectClose(predict(loaded), kept.predictions, { rtol: 1e-4, atol: 1e-6 });
      expectClose(await train(loaded, 3), losses, { rtol: 1e-4, atol: 1e-6 });
      loaded.dispose();
      model.dispose();
    },
  );

  it('can be passed through fromMemory, withSaveHandler and JSON', async () => {
    await tf.setBackend('acc');
    const model = await trained();
    let artifacts: tf.io.ModelArtifacts | undefined;
    await model.save(
      tf.io.withSaveHandler((given) => {
        artifacts = given;
        return new Store().save(given);
      }),
    );
    const loaded = await tf.loadLayersModel(tf.io.fromMemory(artifacts!));
    expect(weights(loaded)).toEqual(weights(model));

    const rebuilt = await tf.models.modelFromJSON({ modelTopology: model.toJSON(null, false) } as never);
    rebuilt.setWeights(model.getWeights());
    expect(predict(rebuilt)).toEqual(predict(model));
    for (const each of [model, loaded, rebuilt]) each.dispose();
  });

  it('is saved without leaving more tensors than on cpu', async () => {
    const left = async (backend: string) => {
      await tf.setBackend(backend);
      const model = await trained();
      const before = tf.memory();
      await model.save(new Store(), { includeOptimizer: true });
      const { numTensors, numDataBuffers } = tf.memory();
      model.dispose();
      return [numTensors - before.numTensors, numDataBuffers - before.numDataBuffers];
    };
    expect(await left('acc')).toEqual(await left('cpu'));
  });
});

describe('tensors of all dtypes', () => {
  it('are encoded in the same bytes as on cpu', async () => {
    const bytes = async (backend: string) => {
      await tf.setBackend(backend);
      const named = {
        float: tf.tensor([1.5, -2, NaN]),
        int: tf.tensor([1, -2], [2], 'int32'),
        bool: tf.tensor([true, false]),
        text: tf.tensor(['a', 'é']),
        complex: tf.complex([1, 2], [3, 4]),
      };
      const { data, specs } = await tf.io.encodeWeights(named);
      const decoded = tf.io.decodeWeights(data, specs);
      const values = Object.values(decoded).map((x) => [...(x.dataSync() as never as number[])]);
      tf.dispose([named, decoded]);
      return { bytes: [...new Uint8Array(data)], specs, values };
    };
    expect(await bytes('acc')).toEqual(await bytes('cpu'));
  });
});

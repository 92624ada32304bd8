import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { memoryStats, resetPeakMemory } from '@acc/native';
import { registerAccBackend } from '../register-backend.js';
import { freeActivations } from './index.js';

registerAccBackend();
beforeEach(() => tf.setBackend('acc'));

const undos: (() => void)[] = [];
afterEach(() => undos.splice(0).forEach((undo) => undo()));
const free = (model: object) => undos.push(freeActivations(model));

type Symbolic = tf.SymbolicTensor;
const relu = (x: Symbolic | Symbolic[]) => tf.layers.reLU().apply(x) as Symbolic;
const scale = (x: Symbolic) => tf.layers.dense({ units: 8 }).apply(x) as Symbolic;

/** Keeps its input, as layers of users may do. */
class Hoarder extends tf.layers.Layer {
  static readonly className = 'Hoarder';
  kept: tf.Tensor | undefined;
  constructor(private readonly before?: Hoarder) {
    super();
  }

  override call(inputs: tf.Tensor | tf.Tensor[]): tf.Tensor {
    this.kept = Array.isArray(inputs) ? inputs[0]! : inputs;
    return this.before?.kept ? this.kept.mul(this.before.kept) : this.kept.mul(2);
  }
}

/** Blocks with a shortcut: some results have one consumer, others two. */
function residual(depth = 6, end = (x: Symbolic) => x): tf.LayersModel {
  const inputs = tf.input({ shape: [8] });
  let x: Symbolic = inputs;
  for (let i = 0; i < depth; i++) x = relu(tf.layers.add().apply([relu(scale(x)), x]) as Symbolic);
  return tf.model({ inputs, outputs: end(x) });
}

/**
 * An encoder and a decoder whose embeddings mask zeros. Their results meet in layers where only one
 * of the inputs has a mask.
 */
function attention(): tf.LayersModel {
  const inputs = [tf.input({ shape: [4] }), tf.input({ shape: [4] })];
  const embed = (tokens: Symbolic) =>
    tf.layers.embedding({ inputDim: 7, outputDim: 3, maskZero: true }).apply(tokens) as Symbolic;
  const lstm = () => tf.layers.lstm({ units: 3, returnSequences: true });
  const encoder = lstm().apply(embed(inputs[0]!)) as Symbolic;
  const last = tf.layers.lstm({ units: 3 }).apply(encoder) as Symbolic;
  const decoder = lstm().apply(embed(inputs[1]!), { initialState: [last, last] } as never) as Symbolic;
  const scores = tf.layers.dot({ axes: [2, 2] }).apply([decoder, encoder]) as Symbolic;
  const weights = tf.layers.activation({ activation: 'softmax' }).apply(scores) as Symbolic;
  const context = tf.layers.dot({ axes: [2, 1] }).apply([weights, encoder]) as Symbolic;
  const both = tf.layers.concatenate().apply([context, decoder]) as Symbolic;
  const outputs = tf.layers.dense({ units: 7, activation: 'softmax' }).apply(both) as Symbolic;
  const model = tf.model({ inputs, outputs });
  model.compile({ optimizer: tf.train.sgd(0.1), loss: 'categoricalCrossentropy' });
  return model;
}

const x = () => tf.sin(tf.range(0, 4096 * 8)).reshape([4096, 8]);
const train = (model: tf.LayersModel, input: tf.Tensor) =>
  model.apply(input, { training: true }) as tf.Tensor | tf.Tensor[];

/** Peak memory of a forward pass, in multiples of the input's size. */
function need(model: tf.LayersModel): number {
  const input = x();
  const run = () => tf.tidy(() => void train(model, input));
  run();
  const { allocatedBytes } = memoryStats();
  resetPeakMemory();
  run();
  input.dispose();
  return (memoryStats().peakAllocatedBytes - allocatedBytes) / (4096 * 8 * 4);
}

const gradients = (model: tf.LayersModel) =>
  tf.tidy(() => {
    const input = x();
    const { grads } = tf.variableGrads(() => (train(model, input) as tf.Tensor).square().mean() as tf.Scalar);
    return Object.values(grads).map((grad) => [...grad.dataSync()]);
  });

describe('activations in training', () => {
  it('are freed after the last layer that uses them, with the same gradients', () => {
    const model = residual(12);
    const [before, expected] = [need(model), gradients(model)];
    free(model);
    // Results that wait take no memory, so a block keeps less than its three results.
    expect(before).toBeGreaterThan(12 * 2);
    // A block's input, the inputs and results of its layers, and the working memory of a kernel.
    expect(need(model)).toBeLessThan(6);
    expect(gradients(model)).toEqual(expected);
    undos.pop()!();
    expect(need(model)).toBe(before);
    expect(['call', 'makeTrainFunction'].filter((name) => Object.hasOwn(model, name))).toEqual([]);
    expect(model.layers.filter((layer) => Object.hasOwn(layer, 'apply'))).toEqual([]);
    model.dispose();
  });

  it('are freed in fit too', async () => {
    const model = tf.sequential();
    model.add(tf.layers.dense({ units: 8, inputShape: [16, 16, 8] }));
    // No gradient needs the results of these layers.
    for (let i = 0; i < 12; i++) model.add(tf.layers.zeroPadding2d());
    model.add(tf.layers.globalAveragePooling2d({}));
    model.compile({ optimizer: tf.train.sgd(0.001), loss: 'meanSquaredError' });
    const [xs, ys] = [tf.ones([32, 16, 16, 8]), tf.zeros([32, 8])];
    const peak = async () => {
      const fit = () => model.fit(xs, ys, { batchSize: 32, epochs: 1, verbose: 0 });
      await fit();
      const { allocatedBytes } = memoryStats();
      resetPeakMemory();
      await fit();
      return memoryStats().peakAllocatedBytes - allocatedBytes;
    };
    const before = await peak();
    free((model as unknown as { model: object }).model);
    expect(await peak()).toBeLessThan(0.7 * before);
    tf.dispose([xs, ys]);
    model.dispose();
  });

  it('are kept if they are results of the model', () => {
    const inputs = tf.input({ shape: [8] });
    const middle = relu(scale(inputs));
    const model = tf.model({ inputs, outputs: [middle, relu(middle)] });
    free(model);
    tf.tidy(() => {
      const results = train(model, x()) as tf.Tensor[];
      expect(results.map(({ isDisposed }) => isDisposed)).toEqual([false, false]);
    });
    model.dispose();
  });

  it('are kept in another model of the same layers, and if layers are called directly', () => {
    const model = residual(2);
    const parts = tf.model({
      inputs: model.inputs,
      outputs: model.layers.slice(1).map(({ output }) => output as Symbolic),
    });
    free(model);
    tf.tidy(() => {
      const results = train(parts, x()) as tf.Tensor[];
      expect(results.filter(({ isDisposed }) => isDisposed)).toEqual([]);
      const kwargs = { training: true };
      const first = model.layers[1]!.apply(x(), kwargs) as tf.Tensor;
      model.layers[2]!.apply(first, kwargs);
      expect(first.isDisposed).toBe(false);
    });
    model.dispose();
  });

  it('are kept until the layer that uses them has computed its mask', async () => {
    const model = attention();
    const tokens = (...ids: number[]) => tf.tensor2d(ids, [2, 4], 'int32');
    const xs = [tokens(1, 2, 3, 0, 4, 5, 0, 0), tokens(1, 3, 0, 0, 6, 5, 1, 0)];
    const ys = tf.oneHot(tokens(3, 1, 2, 0, 5, 4, 0, 0), 7);
    const fit = async () => {
      const { history } = await model.fit(xs, ys, { batchSize: 2, epochs: 1, verbose: 0 });
      return history.loss![0] as number;
    };
    const initial = model.getWeights().map((weight) => weight.clone());
    const expected = await fit();
    model.setWeights(initial);
    free(model);
    // From the second use of a shape on, matrix products may run in another way, which rounds
    // differently.
    expect(await fit()).toBeCloseTo(expected, 5);
    tf.dispose([xs, ys, initial]);
    model.dispose();
  });

  it("are kept if a user's layer uses them", () => {
    const first = new Hoarder();
    const second = new Hoarder(first);
    const model = residual(1, (last) => second.apply(relu(first.apply(relu(last)) as Symbolic)) as Symbolic);
    free(model);
    expect(() => tf.tidy(() => void train(model, x()))).not.toThrow();
    expect(second.kept).toBeDefined();
    model.dispose();
  });
});

import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { packedTensor, registerAccBackend } from '@acc/kernels';
import { memoryStats, resetPeakMemory, tensorFrom } from '@acc/native';
import { engineInternals } from '@acc/tfjs-internals';
import { emptyWeightOf, fillingEmpty } from '../empty/empty-weight.js';
import { initEmptyWeights } from '../empty/init-empty-weights.js';
import { inferredMap, moduleSizes, planDispatch } from './dispatch-model.js';
import { handingOver, isOffloaded } from './offloaded-weights.js';
import type { DispatchOptions } from './options.js';
import { requireValues } from './stored-values.js';

beforeAll(() => registerAccBackend());
afterEach(() => tf.disposeVariables());

const WIDTH = 64;
const LAYER_BYTES = 4 * (WIDTH * WIDTH + WIDTH);
const LAYERS = 5;

const folder = () => mkdtempSync(join(tmpdir(), 'acc-dispatch-'));
const dispatch = (model: object, options: DispatchOptions) =>
  planDispatch('dispatchModel', model, { offloadFolder: folder(), ...options }).apply();

function createModel(): tf.Sequential {
  const { dense, layerNormalization } = tf.layers;
  const layers = Array.from({ length: LAYERS }, (_, i) =>
    dense({
      units: WIDTH,
      inputShape: [WIDTH],
      activation: 'tanh',
      kernelInitializer: tf.initializers.glorotUniform({ seed: i + 1 }),
    }),
  );
  return tf.sequential({ layers: [...layers, layerNormalization()] });
}

const variablesOf = (model: tf.LayersModel) => model.weights.map((weight) => weight.read() as tf.Variable);
const valuesOf = (model: tf.LayersModel) => variablesOf(model).map((variable) => [...variable.dataSync()]);
const input = () => tf.tidy(() => tf.sin(tf.range(0, 3 * WIDTH)).reshape([3, WIDTH]));

function predict(model: tf.LayersModel): number[] {
  return tf.tidy(() => [...(model.predict(input()) as tf.Tensor).dataSync()]);
}

/** Three steps of `fit`, which draws nothing. */
async function train(model: tf.LayersModel, optimizer: tf.Optimizer): Promise<number[]> {
  model.compile({ optimizer, loss: 'meanSquaredError' });
  const [x, y] = [input(), tf.ones([3, WIDTH])];
  const { history } = await model.fit(x, y, { epochs: 3, verbose: 0, shuffle: false });
  tf.dispose([x, y]);
  return history['loss'] as number[];
}

describe.each(['acc', 'cpu'])('on %s a dispatched model', (backend) => {
  beforeAll(() => tf.setBackend(backend));

  it.each([1, 2, 3.5])('predicts like one in memory, with room for %f layers', (layers) => {
    const full = predict(createModel());
    const model = createModel();
    const path = folder();
    dispatch(model, { maxMemory: Math.floor(layers * LAYER_BYTES), offloadFolder: path });
    expect(variablesOf(model).filter(isOffloaded).length).toBeGreaterThanOrEqual(4);
    for (let pass = 0; pass < 2; pass++) expect(predict(model)).toEqual(full);
    // What is not in memory has no name on the disk, and goes with the process.
    expect(readdirSync(path)).toEqual([]);
  });

  it.each([
    ['sgd', () => tf.train.sgd(0.1)],
    ['momentum', () => tf.train.momentum(0.1, 0.9)],
    ['adam', () => tf.train.adam(0.01)],
    ['adamax', () => tf.train.adamax(0.01)],
    ['rmsprop', () => tf.train.rmsprop(0.01)],
    ['adagrad', () => tf.train.adagrad(0.01)],
    ['adadelta', () => tf.train.adadelta(0.1)],
  ])('is trained like one in memory: %s', async (_, optimizer) => {
    const full = createModel();
    const losses = await train(full, optimizer());
    const model = createModel();
    dispatch(model, { maxMemory: 2 * LAYER_BYTES });
    expect(await train(model, optimizer())).toEqual(losses);
    expect(valuesOf(model)).toEqual(valuesOf(full));
    expect(losses[2]).toBeLessThan(losses[0]!);
  });

  it('gives gradients through weights that are frozen, and keeps trained ones in memory', async () => {
    const frozen = () => {
      const model = createModel();
      for (const layer of model.layers.slice(1)) layer.trainable = false;
      return model;
    };
    const full = frozen();
    const losses = await train(full, tf.train.adam(0.01));
    const model = frozen();
    dispatch(model, { maxMemory: 2 * LAYER_BYTES });
    expect(isOffloaded(variablesOf(model)[0]!)).toBe(false);
    expect(await train(model, tf.train.adam(0.01))).toEqual(losses);
    expect(valuesOf(model)).toEqual(valuesOf(full));
  });

  it('takes values that a program assigns, and keeps those of copies', () => {
    const [a, b] = [tf.variable(tf.ones([16])), tf.variable(tf.fill([16], 2))];
    dispatch([a, b], { maxMemory: 64 });
    const first = (compute: () => tf.Tensor) => tf.tidy(() => compute().dataSync()[0]);
    const [ofA, ofB] = [a.clone(), b.clone()];
    expect(ofA.dataSync()[0]).toBe(1);
    // The values of a are in memory, those of b are not.
    tf.tidy(() => a.assign(tf.fill([16], 7)));
    tf.tidy(() => b.assign(tf.fill([16], 8)));
    expect(first(() => tf.addN([a, b, b]))).toBe(23);
    expect(first(() => tf.sub(a, b))).toBe(-1);
    expect(ofA.dataSync()[0]).toBe(1);
    expect(ofB.dataSync()[0]).toBe(2);
    // As in a swap.
    tf.tidy(() => {
      const before = a.clone();
      a.assign(b);
      b.assign(before);
    });
    expect(first(() => tf.add(1, 1))).toBe(2);
    expect([a, b].map((each) => each.dataSync()[0])).toEqual([8, 7]);
    expect([ofA, ofB].map((each) => each.dataSync()[0])).toEqual([1, 2]);
    tf.dispose([ofA, ofB]);
  });

  it('keeps the values of copies when the variables go, and another file takes the number of theirs', () => {
    const create = (factor: number) => {
      const list = [1, 2, 3, 4].map((value) => tf.variable(tf.fill([16], factor * value)));
      dispatch(list, { maxMemory: 64 });
      return list;
    };
    const disposed = create(1);
    const handed = create(10);
    const copies = [disposed[0]!, handed[1]!].map((each) => each.clone());
    const reshaped = disposed[2]!.reshape([4, 4]);
    tf.dispose(disposed);
    handingOver(handed, () => {});
    expect(handed.some(isOffloaded)).toBe(false);
    const others = create(100);
    expect([...copies, reshaped].map((each) => each.dataSync()[5])).toEqual([1, 20, 3]);
    expect(handed.map((each) => each.dataSync()[0])).toEqual([10, 20, 30, 40]);
    expect(others.map((each) => each.dataSync()[0])).toEqual([100, 200, 300, 400]);
    tf.dispose([...copies, reshaped]);
  });

  it('keeps weights offloaded if what takes them over throws', () => {
    const list = [1, 2, 3].map((value) => tf.variable(tf.fill([16], value)));
    dispatch(list, { maxMemory: 64 });
    const fail = () =>
      handingOver(list, () => {
        tf.tidy(() => list[0]!.assign(tf.fill([16], 7)));
        throw new Error('stopped');
      });
    expect(fail).toThrow('stopped');
    tf.tidy(() => list[1]!.assign(tf.fill([16], 8)));
    // The operator stores what was assigned.
    tf.dispose(tf.add(1, 1));
    const data = list.map(({ dataId }) => dataId);
    expect(list.map((each) => each.dataSync()[0])).toEqual([7, 8, 3]);
    tf.tidy(() => list[1]!.assign(tf.fill([16], 9)));
    expect(list[1]!.dataId).not.toBe(data[1]);
    tf.dispose(tf.add(1, 1));
    expect(list.map((each) => each.dataSync()[0])).toEqual([7, 9, 3]);
  });

  it('says that weights are lost whose values were freed for others that did not come', () => {
    const list = [1, 2, 3].map((value) => tf.variable(tf.fill([16], value)));
    const load = () =>
      planDispatch('load', list, { maxMemory: 64, offloadFolder: folder() }, { areReplaced: true });
    const failed = load();
    failed.apply();
    tf.tidy(() => list[0]!.assign(tf.fill([16], 7)));
    failed.abandon();
    const lost = expect.objectContaining({ code: 'ACC_WEIGHT_LOST' }) as Error;
    for (const each of list) expect(() => each.dataSync()).toThrowError(lost);
    expect(() => requireValues(list)).toThrowError(lost);
    const second = load();
    second.apply();
    list.forEach((each, i) => tf.tidy(() => each.assign(tf.fill([16], 10 * i))));
    requireValues(list);
    expect(list.map((each) => each.dataSync()[0])).toEqual([0, 10, 20]);
  });

  it('leaves a model empty that was empty, if other values did not come', () => {
    const before = tf.memory().numTensors;
    const create = () => [1, 2, 3].map((value) => tf.tidy(() => tf.variable(tf.range(value, value + 16))));
    const list = initEmptyWeights(create);
    const options = { maxMemory: 64, offloadFolder: folder() };
    {
      using failed = planDispatch('load', list, options, { areReplaced: true });
      failed.apply();
      tf.tidy(() => list[0]!.assign(tf.zeros([16])));
      tf.dispose(tf.add(1, 1));
      failed.abandon();
    }
    expect(list.every((each) => emptyWeightOf(each) !== undefined)).toBe(true);
    fillingEmpty(list, () => requireValues(list));
    expect(list.map((each) => each.dataSync()[1])).toEqual([2, 3, 4]);
    tf.dispose(list);
    expect(tf.memory().numTensors).toBe(before);
  });

  it('goes without a trace: tensors, and what watched the operators', () => {
    const { runKernelFunc } = engineInternals();
    const before = tf.memory().numTensors;
    for (const disposeAll of [(model: tf.LayersModel) => model.dispose(), () => tf.disposeVariables()]) {
      const model = createModel();
      dispatch(model, { maxMemory: LAYER_BYTES });
      expect(engineInternals().runKernelFunc).not.toBe(runKernelFunc);
      predict(model);
      disposeAll(model);
      expect(tf.memory().numTensors).toBe(before);
      expect(engineInternals().runKernelFunc).toBe(runKernelFunc);
    }
  });

  it('says what is wrong', () => {
    const codeOf = (run: () => unknown): unknown => {
      try {
        run();
      } catch (error) {
        return (error as { code?: string }).code;
      }
      return undefined;
    };
    const model = createModel();
    const values = valuesOf(model);
    const file = join(folder(), 'a file');
    writeFileSync(file, '');
    expect(codeOf(() => planDispatch('dispatchModel', model, { maxMemory: LAYER_BYTES }))).toBe(
      'ACC_OFFLOAD_FOLDER',
    );
    expect(codeOf(() => dispatch(model, { maxMemory: LAYER_BYTES - 1 }))).toBe('ACC_MEMORY_TOO_SMALL');
    expect(codeOf(() => dispatch({}, {}))).toBe('ACC_INVALID_ARGUMENT');
    expect(codeOf(() => dispatch([], {}))).toBe('ACC_INVALID_ARGUMENT');
    expect(codeOf(() => dispatch(model, { maxMemory: LAYER_BYTES, offloadFolder: file }))).toBe(
      'ACC_STORAGE_DENIED',
    );
    const half = [model.layers[0]!.getWeights(), initEmptyWeights(createModel)] as const;
    expect(codeOf(() => dispatch(half[1], { maxMemory: LAYER_BYTES }))).toBe('ACC_WEIGHT_EMPTY');
    // Nothing has changed.
    expect(valuesOf(model)).toEqual(values);
    expect(variablesOf(model).some(isOffloaded)).toBe(false);
    dispatch(model, { maxMemory: LAYER_BYTES });
    expect(codeOf(() => dispatch(model, { maxMemory: LAYER_BYTES }))).toBe('ACC_ALREADY_DISPATCHED');
  });
});

it('never has more weights in memory than it may', async () => {
  await tf.setBackend('acc');
  const start = memoryStats().allocatedBytes;
  const model = createModel();
  const maxMemory = 2 * LAYER_BYTES;
  dispatch(model, { maxMemory });
  expect(memoryStats().allocatedBytes - start).toBeLessThanOrEqual(1.02 * LAYER_BYTES);
  resetPeakMemory();
  predict(model);
  const { peakAllocatedBytes, allocatedBytes } = memoryStats();
  // Activations are small beside the weights.
  expect(peakAllocatedBytes - start).toBeLessThanOrEqual(maxMemory + 8 * 4 * 3 * WIDTH);
  expect(allocatedBytes - start).toBeLessThanOrEqual(1.02 * maxMemory);
  expect(peakAllocatedBytes - start).toBeGreaterThan(LAYER_BYTES);
});

it('packed weights are refused', async () => {
  await tf.setBackend('acc');
  const unpack = () => tensorFrom(new Float32Array(4), 'float32', [2, 2]);
  const packed = packedTensor({ tensors: [], shape: [2, 2], records: {} as never, dynamic: false, unpack });
  const variable = tf.variable(packed, false, 'packed');
  expect(() => planDispatch('dispatchModel', [variable], {})).toThrow(
    expect.objectContaining({ code: 'ACC_QUANTIZED_PLACE' }),
  );
  tf.dispose([packed, variable]);
});

it('what names layers needs a name for each', async () => {
  await tf.setBackend('cpu');
  const dense = () => tf.layers.dense({ name: 'same', units: WIDTH, inputShape: [WIDTH] });
  const model = tf.sequential({ layers: [dense(), tf.sequential({ name: 'inner', layers: [dense()] })] });
  const refused = expect.objectContaining({ code: 'ACC_INVALID_ARGUMENT' }) as Error;
  expect(() => inferredMap('inferAutoDeviceMap', model, {})).toThrow(refused);
  expect(() => moduleSizes('computeModuleSizes', model)).toThrow(refused);
  expect(() => dispatch(model, { deviceMap: { same: 'cpu' } })).toThrow(refused);
  dispatch(model, { maxMemory: 2 * LAYER_BYTES });
});

import * as tf from '@tensorflow/tfjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  engineInternals,
  layerPrototype,
  patch,
  type GraphLayer,
  type LayerInternals,
  type ModelInternals,
} from './index.js';

// Each method that a package replaces, and a program's call that makes tfjs call it on that object.

const ROWS = 4;
const WIDTH = 3;

let engine: ReturnType<typeof engineInternals>;
let sequential: tf.Sequential;
let inner: ModelInternals;
let x: tf.Tensor;
let y: tf.Tensor;

beforeAll(async () => {
  await tf.setBackend('cpu');
  engine = engineInternals();
  const layers = [tf.layers.dense({ units: 2, inputShape: [WIDTH] }), tf.layers.batchNormalization()];
  sequential = tf.sequential({ layers });
  sequential.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
  inner = (sequential as unknown as ModelInternals).model!;
  [x, y] = [tf.ones([ROWS, WIDTH]), tf.ones([ROWS, 2])];
});

afterAll(() => tf.disposeVariables());

const fit = () => sequential.fit(x, y, { epochs: 1, verbose: 0 });
const data = () => tf.data.array([{ xs: x, ys: y }]);
const fitDataset = () => sequential.fitDataset(data(), { epochs: 1, verbose: 0, validationData: data() });
const grad = () => tf.grad((a) => tf.relu(tf.square(a)).sum())(x);
const own = tf.customGrad((a, save) => {
  const input = a as tf.Tensor;
  (save as tf.GradSaveFunc)([input]);
  return { value: tf.square(input), gradFunc: (dy: tf.Tensor) => dy };
});
const customGrad = () => tf.grad((a) => own(a).sum())(x);
const minimize = (optimizer: tf.Optimizer) => {
  const weight = tf.variable(tf.scalar(1));
  optimizer.minimize(() => tf.square(weight));
};

/** Every optimizer class with its own `applyGradients`. */
const OPTIMIZERS: Readonly<
  Record<string, readonly [{ readonly prototype: tf.Optimizer }, () => tf.Optimizer]>
> = {
  SGDOptimizer: [tf.SGDOptimizer, () => tf.train.sgd(0.1)],
  MomentumOptimizer: [tf.MomentumOptimizer, () => tf.train.momentum(0.1, 0.9)],
  AdagradOptimizer: [tf.AdagradOptimizer, () => tf.train.adagrad(0.1)],
  AdadeltaOptimizer: [tf.AdadeltaOptimizer, () => tf.train.adadelta(0.1)],
  RMSPropOptimizer: [tf.RMSPropOptimizer, () => tf.train.rmsprop(0.1)],
  AdamOptimizer: [tf.AdamOptimizer, () => tf.train.adam(0.1)],
  AdamaxOptimizer: [tf.AdamaxOptimizer, () => tf.train.adamax(0.1)],
};

type Methods = Record<string, (...args: unknown[]) => unknown>;
/** The object, its method, and the program's call. */
type Place = readonly [owner: () => object, name: string, call: () => unknown];

const PLACES: Readonly<Record<string, Place>> = {
  'Engine.gradients': [() => engine, 'gradients', grad],
  'Engine.gradients, of minimize': [() => engine, 'gradients', () => minimize(tf.train.sgd(0.1))],
  'Engine.gradients, of fit': [() => engine, 'gradients', fit],
  'Engine.makeVariable': [() => engine, 'makeVariable', () => tf.variable(tf.scalar(1))],
  'Engine.disposeVariable': [() => engine, 'disposeVariable', () => tf.variable(tf.scalar(1)).dispose()],
  'Engine.setBackend': [() => engine, 'setBackend', () => tf.setBackend('cpu')],
  'Engine.runKernel': [() => engine, 'runKernel', () => tf.add(x, x)],
  'Engine.runKernelFunc': [() => engine, 'runKernelFunc', customGrad],
  'Engine.addTapeNode': [() => engine, 'addTapeNode', grad],
  'Engine.runKernelFunc, of a kernel': [() => engine, 'runKernelFunc', () => tf.add(x, x)],
  'Engine.getTensorsForGradient': [() => engine, 'getTensorsForGradient', grad],
  'Engine.saveTensorsForBackwardMode': [() => engine, 'saveTensorsForBackwardMode', grad],
  'Engine.clone': [() => engine, 'clone', customGrad],
  'Engine.startScope': [() => engine, 'startScope', () => tf.tidy(() => x)],
  'Engine.endScope': [() => engine, 'endScope', () => tf.tidy(() => x)],
  'KernelBackend.disposeData': [() => tf.backend(), 'disposeData', () => tf.scalar(1).dispose()],
  'Math.random': [() => Math, 'random', () => tf.randomUniform([2])],
  'Variable.assign': [() => tf.Variable.prototype, 'assign', fit],
  'Optimizer.computeGradients': [
    () => tf.Optimizer.prototype,
    'computeGradients',
    () => minimize(tf.train.adam(0.1)),
  ],
  ...Object.fromEntries(
    Object.entries(OPTIMIZERS).map(([name, [{ prototype }, make]]): [string, Place] => [
      `${name}.applyGradients`,
      [() => prototype, 'applyGradients', () => minimize(make())],
    ]),
  ),
  'Optimizer.applyGradients, of fit': [() => sequential.optimizer, 'applyGradients', fit],
  'Layer.addWeight': [
    () => layerPrototype()!,
    'addWeight',
    () => tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [1] })] }),
  ],
  'LayersModel.predict': [() => inner, 'predict', () => sequential.predict(x)],
  'LayersModel.fit': [() => inner, 'fit', fit],
  'LayersModel.fitLoop': [() => inner, 'fitLoop', fit],
  'LayersModel.fitDataset': [() => inner, 'fitDataset', fitDataset],
  'LayersModel.makeTrainFunction, of fit': [() => inner, 'makeTrainFunction', fit],
  'LayersModel.makeTrainFunction, of fitDataset': [() => inner, 'makeTrainFunction', fitDataset],
  'LayersModel.makeTestFunction': [() => inner, 'makeTestFunction', () => sequential.evaluate(x, y)],
  'LayersModel.testLoop': [() => inner, 'testLoop', () => sequential.evaluate(x, y)],
  'LayersModel.evaluate': [() => inner, 'evaluate', () => sequential.evaluate(x, y)],
  'LayersModel.evaluateDataset': [() => inner, 'evaluateDataset', fitDataset],
  'LayersModel.call': [() => inner, 'call', () => sequential.apply(x)],
  'Layer.apply': [() => sequential.layers[0] as unknown as GraphLayer, 'apply', fit],
  'Layer.call': [() => sequential.layers[0] as unknown as LayerInternals, 'call', fit],
};

describe('tfjs still calls the patch of', () => {
  it.each(Object.entries(PLACES))('%s', async (_, [owner, name, call]) => {
    let isReached = false;
    const undo = patch(owner() as Methods, name, 'recording', (below) => {
      return function (this: unknown, ...args: unknown[]) {
        isReached = true;
        return below.apply(this, args);
      };
    });
    try {
      await call();
    } finally {
      undo();
    }
    expect(isReached).toBe(true);
  });

  it('the buffer of random numbers, whose values are assigned after its shape', () => {
    let shape: readonly number[] | undefined;
    const { prototype } = tf.TensorBuffer;
    Object.defineProperty(prototype, 'values', {
      configurable: true,
      set(this: tf.TensorBuffer<tf.Rank>, value: Float32Array) {
        shape = this.shape;
        Object.defineProperty(this, 'values', { value, writable: true });
      },
    });
    try {
      tf.randomNormal([2, 3]);
    } finally {
      Reflect.deleteProperty(prototype, 'values');
    }
    expect(shape).toEqual([2, 3]);
  });
});

it.each(['randomUniform', 'randomNormal', 'truncatedNormal', 'randomGamma', 'multinomial', 'rand'])(
  'tf.%s opens a scope with its name',
  (name) => {
    const draws: Record<string, () => tf.Tensor> = {
      randomUniform: () => tf.randomUniform([2]),
      randomNormal: () => tf.randomNormal([2]),
      truncatedNormal: () => tf.truncatedNormal([2]),
      randomGamma: () => tf.randomGamma([2], 1),
      multinomial: () => tf.multinomial(tf.tensor1d([0.5, 0.5]), 1),
      rand: () => tf.rand([2], () => 0.5),
    };
    const scopes: (string | undefined)[] = [];
    const undo = patch(engine, 'startScope', 'recording', (own) => (scope) => {
      scopes.push(scope);
      own.call(engine, scope);
    });
    draws[name]!();
    undo();
    expect(scopes).toContain(`${name}__op`);
  },
);

import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { kernelLayerOf, optimizerState } from '@acc/kernels';
import { adafactor, adamw, lamb, lion, sgdw } from '@acc/optimizers';
import { registerKernelLayer, type KernelLayer } from '@acc/contract';
import { expectClose } from '@acc/testkit';
import type { TensorflowBackend } from '../backend.js';
import { TENSORFLOW_LAYER } from '../layer.js';
import { activateTfjsNode } from '../testing/provided-tfjs-node.js';

let backend: TensorflowBackend;
let layer: KernelLayer;

beforeAll(async () => {
  backend = await activateTfjsNode();
  registerKernelLayer(TENSORFLOW_LAYER);
  layer = kernelLayerOf('tensorflow', backend);
});

const DECAY = { weightDecay: 0.1, excludeFromWeightDecay: ['bias'] };

const OPTIMIZERS: Readonly<Record<string, () => tf.Optimizer>> = {
  sgd: () => tf.train.sgd(0.1),
  momentum: () => tf.train.momentum(0.1, 0.9),
  'momentum, Nesterov': () => tf.train.momentum(0.1, 0.9, true),
  adagrad: () => tf.train.adagrad(0.1, 0.05),
  adadelta: () => tf.train.adadelta(0.5, 0.9),
  rmsprop: () => tf.train.rmsprop(0.01, 0.9, 0.5),
  'rmsprop, centered': () => tf.train.rmsprop(0.01, 0.9, 0.5, 1e-4, true),
  adam: () => tf.train.adam(0.05),
  'adam, large epsilon': () => tf.train.adam(0.05, 0.8, 0.95, 0.1),
  adamax: () => tf.train.adamax(0.05, 0.9, 0.999, 1e-7, 0.01),
  adamw: () => adamw({ learningRate: 0.05, ...DECAY }),
  sgdw: () => sgdw({ learningRate: 0.1, ...DECAY }),
  'sgdw with momentum': () => sgdw({ learningRate: 0.1, momentum: 0.9, nesterov: true, ...DECAY }),
};

const SHAPES = { kernel: [5, 7], bias: [7], deep: [2, 3, 4], scalar: [], empty: [0, 3] };
const STEPS = 20;

const wave = (shape: number[], seed: number) => {
  const values = Float32Array.from({ length: tf.util.sizeFromShape(shape) }, (_, i) =>
    Math.sin(1.7 * i + 2.9 * seed + (i % 5)),
  );
  return tf.tensor(values, shape);
};

let run = 0;
const makeVariables = () => {
  run++;
  return Object.entries(SHAPES).map(([name, shape], i) =>
    tf.tidy(() => tf.variable(wave(shape, i), true, `run${run}/${name}`)),
  );
};

/** Every third step lacks the gradient of one variable. */
function takeSteps(apply: tf.Optimizer['applyGradients'], variables: tf.Variable[], steps = STEPS): void {
  for (let step = 0; step < steps; step++) {
    tf.tidy(() => {
      const given = variables.map(
        (variable, i) => [variable.name, wave(variable.shape, 10 * step + i)] as const,
      );
      apply(
        Object.fromEntries(
          step % 3 === 2 ? given.map(([name, grad], i) => [name, i === 1 ? null : grad]) : given,
        ) as tf.NamedTensorMap,
      );
    });
  }
}

const stateOf = (optimizer: tf.Optimizer) => {
  const { slots, scalars } = optimizerState(optimizer)!;
  const variables = Object.values(slots).flatMap((kind) => kind.map(({ variable }) => variable));
  return [...variables, ...scalars].map((variable) => variable.dataSync());
};

/**
 * TensorFlow's operators round m + (1 - β)(g - m) once less, or in another order, than tfjs's
 * operations. Errors of 20 steps add up to some units in the last place of the largest numbers, and
 * optimizers that divide by roots of small numbers amplify them.
 */
const CLOSE = { rtol: 2e-5, atol: 2e-6 };

describe.each(Object.entries(OPTIMIZERS))('%s', (_, make) => {
  it('gives the weights and the state of applyGradients', () => {
    const [own, fused] = [make(), make()];
    const [expected, variables] = [makeVariables(), makeVariables()];
    takeSteps((given) => own.applyGradients(given), expected);
    takeSteps(layer.fusedApply!(fused)!, variables);
    expect(fused.iterations).toBe(STEPS);
    variables.forEach((variable, i) => expectClose(variable.dataSync(), expected[i]!.dataSync(), CLOSE));
    const [state, expectedState] = [stateOf(fused), stateOf(own)];
    expect(state.length).toBe(expectedState.length);
    state.forEach((values, i) => expectClose(values, expectedState[i]!, CLOSE));
    own.dispose();
    fused.dispose();
    tf.dispose([...expected, ...variables]);
  });

  it('leaves no tensor behind', () => {
    const counts = () => [
      tf.memory().numTensors,
      tf.memory().numDataBuffers,
      backend.binding.getNumOfTensors(),
    ];
    const optimizer = make();
    const apply = layer.fusedApply!(optimizer)!;
    const variables = makeVariables();
    takeSteps(apply, variables, 3);
    const before = counts();
    takeSteps(apply, variables, 3);
    expect(counts()).toEqual(before);
    optimizer.dispose();
    tf.dispose(variables);
  });
});

it('an optimizer without a rule keeps its own method', () => {
  for (const make of [lion, lamb, adafactor]) expect(layer.fusedApply!(make())).toBeUndefined();
  class Own extends tf.SGDOptimizer {}
  expect(layer.fusedApply!(new Own(0.1))).toBeUndefined();
});

it('clones, saved tensors and arrays of the program keep their values', () => {
  const array = new Float32Array(64).fill(1);
  const given = tf.tensor(array);
  const variable = tf.variable(given, true, 'kept/w');
  const clone = variable.clone();
  const view = variable.reshape([8, 8]);
  const optimizer = tf.train.adam(0.1);
  const apply = layer.fusedApply!(optimizer)!;
  const step = () => tf.tidy(() => apply({ [variable.name]: tf.ones([64]) }));
  step();
  const between = variable.reshape([8, 8]);
  const values = between.dataSync();
  step();
  for (const x of [given, clone, view]) expect(new Set(x.dataSync())).toEqual(new Set([1]));
  expect(new Set(array)).toEqual(new Set([1]));
  expect(between.dataSync()).toEqual(values);
  expect(variable.dataSync()[0]).toBeLessThan(values[0]!);
  optimizer.dispose();
  tf.dispose([given, variable, clone, view, between]);
});

it('a gradient that must be broadcast, or is the variable itself, goes the way of tfjs', () => {
  const [own, fused] = [tf.train.sgd(0.5), tf.train.sgd(0.5)];
  const [expected, variable] = ['broadcast/a', 'broadcast/b'].map((name) =>
    tf.variable(tf.ones([2, 3]), true, name),
  ) as [tf.Variable, tf.Variable];
  const apply = layer.fusedApply!(fused)!;
  tf.tidy(() => {
    own.applyGradients({ [expected.name]: tf.tensor1d([1, 2, 3]) });
    apply({ [variable.name]: tf.tensor1d([1, 2, 3]) });
    own.applyGradients({ [expected.name]: expected });
    apply({ [variable.name]: variable });
  });
  expect(variable.dataSync()).toEqual(expected.dataSync());
  own.dispose();
  fused.dispose();
  tf.dispose([expected, variable]);
});

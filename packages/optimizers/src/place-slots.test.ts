import * as tf from '@tensorflow/tfjs';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { optimizerState, registerAccBackend } from '@acc/kernels';
import { adafactor, adamw, lamb, lion, registerOptimizers, sgdw } from './index.js';
import { fusedApply } from './testing/fused-apply.js';

const OPTIMIZERS: readonly [string, () => tf.Optimizer][] = [
  ['momentum', () => tf.train.momentum(0.05, 0.9)],
  ['adagrad', () => tf.train.adagrad(0.1)],
  ['adadelta', () => tf.train.adadelta(1, 0.9, 1e-4)],
  ['rmsprop', () => tf.train.rmsprop(0.01, 0.8, 0.5, 1e-5)],
  ['adam', () => tf.train.adam(0.01)],
  ['adamax', () => tf.train.adamax(0.01)],
  ['adamw', () => adamw({ learningRate: 0.01 })],
  ['sgdw', () => sgdw({ learningRate: 0.1, momentum: 0.9 })],
  ['lion', () => lion({ learningRate: 0.01 })],
  ['lamb', () => lamb({ learningRate: 0.01 })],
  ['adafactor', () => adafactor({ learningRate: 0.1, beta1: 0.5 })],
];

beforeAll(() => {
  registerAccBackend();
  registerOptimizers();
});
beforeEach(() => tf.setBackend('acc'));

type Apply = tf.Optimizer['applyGradients'];

const applyOf = (optimizer: tf.Optimizer): Apply =>
  fusedApply(optimizer) ?? ((grads) => optimizer.applyGradients(grads));

function makeVariable(shape: number[], name: string): tf.Variable {
  return tf.variable(tf.randomNormal(shape, 0, 1, 'float32', shape[0]), true, name);
}

/** One step for the variables, each with a gradient of its own that depends on `step`. */
function applyTo(apply: Apply, variables: readonly tf.Variable[], step: number): void {
  const gradOf = ({ shape }: tf.Variable) => tf.randomNormal(shape, 0, 1, 'float32', 100 + step + shape[0]!);
  tf.tidy(() => apply(variables.map((variable) => ({ name: variable.name, tensor: gradOf(variable) }))));
}

const valuesOf = (variable: tf.Variable) => [...variable.dataSync()];

describe.each(OPTIMIZERS)('%s', (kind, make) => {
  it('gives each variable its own state if others are frozen and thawed', () => {
    const [alone, frozen, trained] = [
      makeVariable([3, 4], `${kind} alone`),
      makeVariable([5, 2], `${kind} frozen`),
      makeVariable([3, 4], `${kind} trained`),
    ];
    const [first, second] = [make(), make()];
    const [applyAlone, apply] = [applyOf(first), applyOf(second)];
    for (let step = 0; step < 9; step++) {
      applyTo(applyAlone, [alone], step);
      applyTo(apply, step % 4 < 2 ? [frozen, trained] : [trained], step);
    }
    expect(valuesOf(trained)).toEqual(valuesOf(alone));
    expect(
      Object.values(optimizerState(second)!.slots).map((slots) =>
        slots.map(({ originalName }) => originalName),
      ),
    ).toEqual(
      Object.keys(optimizerState(second)!.slots).map((suffix) =>
        [frozen, trained].map(({ name }) => `${name}/${suffix}`),
      ),
    );
    first.dispose();
    second.dispose();
    tf.dispose([alone, frozen, trained]);
  });
});

it('variables that are trained in turn have states of their own', () => {
  const [a, b, alone] = ['turn a', 'turn b', 'turn alone'].map((name) => makeVariable([3, 4], name)) as [
    tf.Variable,
    tf.Variable,
    tf.Variable,
  ];
  const [shared, own] = [applyOf(tf.train.momentum(0.05, 0.9)), applyOf(tf.train.momentum(0.05, 0.9))];
  for (let step = 0; step < 6; step++) {
    applyTo(shared, [a], 50 + step);
    applyTo(shared, [b], step);
    applyTo(own, [alone], step);
  }
  expect(valuesOf(b)).toEqual(valuesOf(alone));
  tf.dispose([a, b, alone]);
});

it('state belongs to its position if its variable is gone, as in tfjs', () => {
  const optimizer = tf.train.momentum(0.05, 0.9);
  const apply = applyOf(optimizer);
  const [old, before, straight] = ['old', 'before', 'straight'].map((name) => makeVariable([3, 4], name)) as [
    tf.Variable,
    tf.Variable,
    tf.Variable,
  ];
  const full = applyOf(tf.train.momentum(0.05, 0.9));
  for (let step = 0; step < 3; step++) {
    applyTo(apply, [old], step);
    applyTo(full, [straight], step);
  }
  before.assign(old as tf.Tensor);
  old.dispose();
  for (let step = 3; step < 6; step++) {
    applyTo(apply, [before], step);
    applyTo(full, [straight], step);
  }
  expect(valuesOf(before)).toEqual(valuesOf(straight));
  tf.dispose([before, straight]);
});

import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { optimizerState, registerAccBackend, updateInGroups } from '@acc/kernels';
import { makeGradients, makeVariables } from './testing/optimizer-steps.js';
import { adamw, lion, sgdw } from './index.js';
import { fusedApply } from './testing/fused-apply.js';

const OPTIMIZERS: readonly [string, () => tf.Optimizer][] = [
  ['sgd', () => tf.train.sgd(0.1)],
  ['momentum', () => tf.train.momentum(0.05, 0.9)],
  ['adagrad', () => tf.train.adagrad(0.1)],
  ['adadelta', () => tf.train.adadelta(1, 0.9, 1e-4)],
  ['centered rmsprop', () => tf.train.rmsprop(0.01, 0.9, 0.3, 1e-3, true)],
  ['adam', () => tf.train.adam(0.02, 0.5, 0.9, 1e-3)],
  ['adamax', () => tf.train.adamax(0.02, 0.8, 0.95, 1e-4, 0.1)],
  ['adamw', () => adamw({ learningRate: 0.02, weightDecay: 0.1 })],
  ['lion', () => lion({ learningRate: 0.02 })],
  ['sgdw', () => sgdw({ learningRate: 0.1, momentum: 0.9, nesterov: true })],
];

beforeAll(() => {
  registerAccBackend();
  return tf.setBackend('acc');
});

/** Weights, state, figures that count steps, and the groups that the optimizer asked for. */
function train(make: () => tf.Optimizer, isInGroups: boolean) {
  const variables = makeVariables('piece');
  const optimizer = make();
  const fused = fusedApply(optimizer) ?? optimizer.applyGradients.bind(optimizer);
  const calls: string[] = [];
  const names = variables.map(({ name }) => name);
  const groups = [names.slice(1, 3), names.slice(3)].map((some, i) => ({
    names: new Set(some),
    enter: () => calls.push(`enter ${i}`),
    leave: () => calls.push(`leave ${i}`),
  }));
  for (let step = 0; step < 5; step++) {
    tf.tidy(() => {
      const apply = () => fused(makeGradients(variables, step));
      if (isInGroups) updateInGroups(groups, apply);
      else apply();
    });
  }
  const { slots, scalars, iterations } = optimizerState(optimizer)!;
  const state = Object.values(slots).flatMap((list) => list.map(({ variable }) => variable));
  const found = [...variables, ...state, ...scalars].map((tensor) => [...tensor.dataSync()]);
  optimizer.dispose();
  tf.dispose(variables);
  return { found, iterations, calls };
}

describe('an update in pieces', () => {
  it.each(OPTIMIZERS)('has the same weights and state, bit for bit, and counts once: %s', (_, make) => {
    const full = train(make, false);
    const inGroups = train(make, true);
    expect(inGroups.found).toEqual(full.found);
    expect([inGroups.iterations, full.iterations]).toEqual([5, 5]);
    expect(inGroups.calls.slice(0, 4)).toEqual(['enter 0', 'leave 0', 'enter 1', 'leave 1']);
    expect([inGroups.calls.length, full.calls.length]).toEqual([20, 0]);
  });
});

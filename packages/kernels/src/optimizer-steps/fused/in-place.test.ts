import * as tf from '@tensorflow/tfjs';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AccBackend } from '../../backend.js';
import { registerAccBackend } from '../../register-backend.js';
import { fusedApply } from './fused-apply.js';

beforeAll(() => registerAccBackend());
beforeEach(async () => {
  await tf.setBackend('acc');
});

const acc = () => tf.backend() as AccBackend;
const fused = (optimizer: tf.Optimizer) => fusedApply(optimizer)!;

const MATRIX = [
  [1, 2, 3],
  [4, 5, 6],
];
const LESS_ONE = [0, 1, 2, 3, 4, 5];
const own = (value: tf.Tensor) => tf.tidy(() => tf.variable(tf.clone(value)));

/** Subtracts the gradient from `w` with an SGD step of rate 1. The default gradient is 1. */
function step(w: tf.Variable, gradient?: tf.Tensor): void {
  tf.tidy(() => fused(tf.train.sgd(1))([{ name: w.name, tensor: gradient ?? tf.ones(w.shape) }]));
}

describe('an update does not change values that others hold', () => {
  const holders: [string, (w: tf.Variable) => tf.Tensor][] = [
    ['a clone', (w) => w.clone()],
    ['a reshaped tensor', (w) => w.reshape([3, 2])],
    ['a transposed view', (w) => w.transpose()],
    ['a slice', (w) => w.slice([0, 1], [2, 2])],
    ['an expanded tensor', (w) => w.expandDims(0).tile([1, 1, 1])],
    ['another variable', (w) => tf.variable(w)],
    ['a part of its columns', (w) => tf.split(w, 3, 1)[2]!],
  ];

  it.each(holders)('%s', (_, hold) => {
    const w = own(tf.tensor(MATRIX));
    const held = hold(w);
    const before = [...held.dataSync()];
    step(w);
    expect([...held.dataSync()]).toEqual(before);
    expect([...w.dataSync()]).toEqual(LESS_ONE);
    tf.dispose([held, w]);
  });

  it('the tensor that the variable was created from', () => {
    const first = tf.tensor(MATRIX);
    const w = tf.variable(first);
    step(w);
    expect([...first.dataSync()]).toEqual(MATRIX.flat());
    expect([...w.dataSync()]).toEqual(LESS_ONE);
  });

  it("an optimizer's saved state", async () => {
    const w = own(tf.scalar(1));
    const optimizer = tf.train.momentum(0.1, 0.9);
    const saved = [
      { name: 'iter', tensor: tf.scalar(3, 'int32') },
      { name: 'm', tensor: tf.scalar(5) },
    ];
    await optimizer.setWeights(saved);
    fused(optimizer)({ [w.name]: tf.scalar(1) });
    expect(saved[1]!.tensor.dataSync()[0]).toBe(5);
    expect((await optimizer.getWeights())[1]!.tensor.dataSync()[0]).toBeCloseTo(5.5, 6);
    expect(optimizer.iterations).toBe(4);
  });
});

describe('a variable', () => {
  const dataIdOf = (w: tf.Variable) => w.dataId;

  it('is updated in its own memory if nobody else holds it', () => {
    const w = own(tf.tensor(MATRIX).add(0));
    step(w);
    const before = dataIdOf(w);
    step(w);
    expect(dataIdOf(w)).toBe(before);
    const clone = w.clone();
    step(w);
    expect(dataIdOf(w)).not.toBe(before);
    clone.dispose();
  });

  it('has its new values in other shapes', () => {
    const w = own(tf.tensor(MATRIX).transpose());
    const product = () => tf.tidy(() => [...tf.dot(w.reshape([6]), tf.ones([6])).dataSync()][0]);
    expect(product()).toBe(21);
    for (let i = 1; i <= 3; i++) {
      step(w);
      expect(product()).toBe(21 - 6 * i);
    }
  });

  it('accepts gradients with any strides, also its own data', () => {
    const w = own(tf.tensor(MATRIX));
    step(w, tf.tensor([1, 2, 3, 4, 5, 6], [3, 2]).transpose());
    expect([...w.dataSync()]).toEqual([0, -1, -2, 2, 1, 0]);
    fused(tf.train.adagrad(1))([{ name: w.name, tensor: w }]);
    const after = [0, -1, -2, 2, 1, 0].map((x) => x - x / Math.sqrt(0.1 + x * x));
    w.dataSync().forEach((x, i) => expect(x).toBeCloseTo(after[i]!, 5));
  });
});

describe('tfjs itself takes the step', () => {
  it('for a subclass', () => {
    class Mine extends tf.SGDOptimizer {}
    expect(fusedApply(new Mine(1))).toBeUndefined();
  });

  it('for gradients that broadcast, and for a variable that is listed twice', () => {
    const w = own(tf.tensor(MATRIX));
    step(w, tf.scalar(1));
    expect([...w.dataSync()]).toEqual(LESS_ONE);
    const one = { name: w.name, tensor: tf.ones([2, 3]) };
    fused(tf.train.sgd(1))([one, one]);
    expect([...w.dataSync()]).toEqual(LESS_ONE.map((x) => x - 2));
  });

  it('on another backend', async () => {
    const w = own(tf.tensor(MATRIX));
    const apply = fused(tf.train.adam(0.5));
    apply({ [w.name]: tf.ones([2, 3]) });
    await tf.setBackend('cpu');
    apply({ [w.name]: tf.ones([2, 3]) });
    w.dataSync().forEach((x, i) => expect(x).toBeCloseTo(LESS_ONE[i]!, 4));
  });

  it('in debug mode, which warns of NaN', async () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue();
    const log = vi.spyOn(console, 'log').mockReturnValue();
    const w = own(tf.tensor(MATRIX));
    const apply = fused(tf.train.sgd(1));
    const gradient = tf.fill([2, 3], NaN);
    tf.env().set('DEBUG', true);
    apply({ [w.name]: gradient });
    tf.env().set('DEBUG', false);
    const expected = "Found NaN in the result of 'Add'";
    await vi.waitFor(() => expect(warn).toHaveBeenCalledWith(expected), { timeout: 240_000 });
    warn.mockRestore();
    log.mockRestore();
  });

  it('for an unknown variable, and fails as tfjs does', () => {
    const gradients = { 'no such variable': tf.scalar(1) };
    const failure = (apply: tf.Optimizer['applyGradients']) => {
      try {
        apply(gradients);
      } catch (error) {
        return (error as Error).message;
      }
      return expect.unreachable();
    };
    const optimizer = tf.train.adam(1);
    expect(failure(fused(optimizer))).toBe(failure(optimizer.applyGradients.bind(optimizer)));
    expect(optimizer.iterations).toBe(0);
  });
});

it('more variables than one native call accepts are updated with several calls', () => {
  const variables = Array.from({ length: 2100 }, () => own(tf.scalar(1)));
  const gradients = variables.map(({ name }) => ({ name, tensor: tf.scalar(2) }));
  for (const make of [() => tf.train.sgd(0.5), () => tf.train.adam(1), () => tf.train.adagrad(1)]) {
    const before = variables[2099]!.dataSync()[0]!;
    fused(make())(gradients);
    const after = variables.map((w) => w.dataSync()[0]!);
    expect(new Set(after).size).toBe(1);
    expect(after[0]).toBeCloseTo(before - 1, 1);
  }
});

it.each<[string, () => tf.SGDOptimizer]>([
  ['sgd', () => tf.train.sgd(0.1)],
  ['momentum', () => tf.train.momentum(0.1, 0.9)],
])('%s reads nothing back, also if its rate changes', (_, make) => {
  const optimizer = make();
  const apply = fused(optimizer);
  const w = own(tf.tensor(MATRIX));
  const gradient = tf.ones(w.shape);
  const read = vi.spyOn(acc(), 'readSync');
  for (const rate of [0.1, 0.2, 0.3]) {
    optimizer.setLearningRate(rate);
    apply([{ name: w.name, tensor: gradient }]);
  }
  expect(read).not.toHaveBeenCalled();
  read.mockRestore();
});

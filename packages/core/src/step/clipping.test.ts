import * as tf from '@tensorflow/tfjs';
import { afterEach, describe, expect, it } from 'vitest';
import type { Plugin, Strategy } from '@acc/contract';
import { observeCalls } from '@acc/native';
import { expectClose } from '@acc/testkit';
import { Accelerator } from '../accelerator.js';
import type { AcceleratorOptions } from '../options.js';
import { singleStrategy } from '../single-strategy/single-strategy.js';

let accelerator: Accelerator;
afterEach(() => accelerator.freeMemory());
const create = async (options: AcceleratorOptions = {}) => {
  if (options.engine === 'tfjs') await tf.setBackend('cpu');
  return (accelerator = await Accelerator.create({ engine: 'acc', ...options }));
};

const values = (grads: tf.NamedTensorMap) =>
  Object.fromEntries(Object.entries(grads).map(([name, x]) => [name, [...x.dataSync()]]));
const record = () => ({ a: tf.tensor1d([3, -4]), b: tf.tensor2d([[12]]) });

describe.each(['acc', 'tfjs'] as const)('clipping on %s', (engine) => {
  it('by norm is g · min(1, maxNorm / ‖g‖)', async () => {
    await create({ engine });
    const grads = record();
    expect(accelerator.clipGradNorm(grads, 6.5)).toBe(13);
    expectClose(values(grads)['a']!, [1.5, -2], { rtol: 1e-6 });
    expectClose(values(grads)['b']!, [6], { rtol: 1e-6 });
    expect(accelerator.gradientNorm).toBe(13);
    expect(accelerator.clipGradNorm(grads, 100)).toBeCloseTo(6.5, 5);
    expectClose(values(grads)['b']!, [6], { rtol: 1e-6 });
  });

  it('by value limits each element', async () => {
    await create({ engine });
    const grads = record();
    accelerator.clipGradValue(grads, 3.5);
    expect(values(grads)).toEqual({ a: [3, -3.5], b: [3.5] });
  });

  it('by option clips by norm and then by value, when gradients are applied', async () => {
    await create({ engine, gradientClipping: { norm: 6.5, value: 1.75 } });
    const w = tf.variable(tf.tensor1d([3, -4, 12]));
    const [, optimizer] = accelerator.prepare([w], tf.train.sgd(1));
    optimizer.minimize(() => w.square().sum().div(2) as tf.Scalar);
    expectClose([...w.dataSync()], [3 - 1.5, -4 + 1.75, 12 - 1.75], { rtol: 1e-6 });
  });
});

it('ignores missing gradients, keeps one tensor for the norm, and frees it', async () => {
  await create({ gradientClipping: { norm: 1 } });
  const [used, unused] = [tf.variable(tf.scalar(3)), tf.variable(tf.scalar(1))];
  const before = tf.memory().numTensors;
  const [, optimizer] = accelerator.prepare([used, unused], tf.train.sgd(0.1));
  for (let i = 0; i < 3; i++) optimizer.minimize(() => used.square() as tf.Scalar, false, [used, unused]);
  expect(unused.dataSync()[0]).toBe(1);
  accelerator.freeMemory();
  optimizer.dispose();
  expect(tf.memory().numTensors).toBe(before);
});

it('takes one pass over all gradients, in place, without reading values', async () => {
  await create({ gradientClipping: { norm: 1 } });
  const variables = [1, 2, 3].map((n) => tf.variable(tf.ones([n])));
  const [, optimizer] = accelerator.prepare(variables, tf.train.sgd(0.1));
  const loss = () => tf.addN(variables.map((v) => v.square().sum())) as tf.Scalar;
  // tfjs's SGD keeps its rate in a tensor. The first step reads its value.
  optimizer.minimize(loss);
  const names: string[] = [];
  const end = observeCalls((name) => void (name.includes('foreach') && names.push(name)));
  const reads = tf.backend().readSync;
  tf.backend().readSync = () => expect.unreachable('a step reads nothing');
  optimizer.minimize(loss);
  tf.backend().readSync = reads;
  end();
  expect(names).toEqual(['aten::_foreach_norm.Scalar', 'aten::_foreach_mul_.Tensor']);
});

describe('a strategy that shards gradients', () => {
  const sharded: Strategy = { ...singleStrategy(), name: 'sharded', traits: { parameters: 'sharded' } };
  const grads = () => ({ a: tf.tensor1d([3]), b: tf.tensor1d([4]) });

  it("computes the norm over all ranks, here twice this rank's", async () => {
    const globalNorm: Strategy['globalNorm'] = (given) =>
      tf.tidy(() => tf.norm(tf.concat(Object.values(given))).mul(2));
    await create({ strategy: { ...sharded, globalNorm } });
    const given = grads();
    expect(accelerator.clipGradNorm(given, 1)).toBe(10);
    expectClose(values(given)['a']!, [0.3], { rtol: 1e-6 });
  });

  it('without globalNorm is an error, not the norm of a shard', async () => {
    await create({ strategy: sharded });
    const given = grads();
    expect(() => accelerator.clipGradNorm(given, 1)).toThrowError(
      expect.objectContaining({ code: 'ACC_STRATEGY_CANNOT' }),
    );
    expect(values(given)).toEqual({ a: [3], b: [4] });
    accelerator.clipGradValue(given, 1);
    expect(values(given)).toEqual({ a: [1], b: [1] });
  });
});

it.each([0, -1, NaN])('refuses %s as a bound', async (bound) => {
  await create();
  const invalid = expect.objectContaining({ code: 'ACC_INVALID_ARGUMENT' }) as Error;
  expect(() => accelerator.clipGradNorm(record(), bound)).toThrowError(invalid);
  expect(() => accelerator.clipGradValue(record(), bound)).toThrowError(invalid);
});

describe('plugins that scale the loss', () => {
  /** Scales losses by 1024. Steps with non-finite gradients are skipped. */
  const scaler = (seen: string[]): Plugin => ({
    name: 'scaler',
    lossScale: () => 1024,
    ready: (grad, { weight }) => void seen.push(`ready ${grad.dataSync()[0]! / weight}`),
    settle(grads) {
      seen.push(`settle ${grads[0]!.dataSync()[0]}`);
      return grads.every((grad) => Number.isFinite(grad!.dataSync()[0]));
    },
    transform: (grads) => void seen.push(`transform ${Object.values(grads)[0]!.dataSync()[0]}`),
    afterStep: ({ step }) => void seen.push(`after ${step}`),
  });

  it('run in order: over a window, before clipping', async () => {
    const seen: string[] = [];
    const plugins = [scaler(seen)];
    await create({ plugins, gradientAccumulationSteps: 2, gradientClipping: { value: 3 } });
    const w = tf.variable(tf.scalar(1));
    const [, optimizer] = accelerator.prepare([w], tf.train.sgd(1));
    for (const x of [2, 6]) accelerator.accumulate(() => optimizer.minimize(() => w.mul(x) as tf.Scalar));
    expect(seen).toEqual(['ready 2', 'ready 6', 'settle 4', 'transform 3', 'after 0']);
    expect(w.dataSync()[0]).toBe(1 - 3);
  });

  it('can skip a step', async () => {
    const seen: string[] = [];
    await create({ plugins: [scaler(seen)] });
    const w = tf.variable(tf.scalar(1));
    const [, optimizer] = accelerator.prepare([w], tf.train.sgd(1));
    optimizer.minimize(() => w.mul(Infinity) as tf.Scalar);
    expect(accelerator.optimizerStepWasSkipped).toBe(true);
    expect([w.dataSync()[0], optimizer.iterations]).toEqual([1, 0]);
    optimizer.minimize(() => w.mul(2) as tf.Scalar);
    expect(accelerator.optimizerStepWasSkipped).toBe(false);
    expect(w.dataSync()[0]).toBe(-1);
    expect(seen.at(-1)).toBe('after 0');
  });
});

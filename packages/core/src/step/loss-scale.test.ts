import * as tf from '@tensorflow/tfjs';
import { afterEach, describe, expect, it } from 'vitest';
import type { Strategy } from '@acc/contract';
import { Accelerator } from '../accelerator.js';
import { LocalSGD } from '../local-steps/local-sgd.js';
import type { AcceleratorOptions } from '../options.js';
import { singleStrategy } from '../single-strategy/single-strategy.js';

let accelerator: Accelerator;
afterEach(() => accelerator.freeMemory());

const create = async (options: AcceleratorOptions) =>
  (accelerator = await Accelerator.create({ engine: 'acc', mixedPrecision: 'fp16', ...options }));

/**
 * Two variables with the value 0, each with its own optimizer and a step with the gradient `slope`.
 */
function twoOptimizers() {
  const variables = [tf.variable(tf.scalar(0)), tf.variable(tf.scalar(0))];
  const [, ...optimizers] = accelerator.prepare(variables, tf.train.sgd(1), tf.train.sgd(1));
  const steps = variables.map((variable, i) => (slope: number) => {
    tf.tidy(() => void optimizers[i]!.minimize(() => variable.mul(slope) as tf.Scalar, false, [variable]));
    return accelerator.optimizerStepWasSkipped;
  });
  const values = () => variables.map((variable) => variable.dataSync()[0]!);
  return { steps: steps as [(slope: number) => boolean, (slope: number) => boolean], values, variables };
}

describe('a changing loss scale', () => {
  it('after a step of one optimizer does not affect accumulated gradients of another', async () => {
    const lossScale = { initial: 1024, growthInterval: 1, growthFactor: 4 };
    await create({ gradientAccumulationSteps: 2, amp: { lossScale } });
    const { steps, values } = twoOptimizers();
    for (let i = 0; i < 2; i++) accelerator.accumulate(() => steps.forEach((step) => step(1)));
    expect(values()).toEqual([-1, -1]);
  });

  it('after an overflow of one optimizer does not affect accumulated gradients of another', async () => {
    await create({ gradientAccumulationSteps: 2, amp: { lossScale: { initial: 1024 } } });
    const { steps, values } = twoOptimizers();
    const skipped = [1, Infinity].map((slope) =>
      accelerator.accumulate(() => [steps[0](slope), steps[1](1)]),
    );
    expect(skipped[1]).toEqual([true, false]);
    expect(values()).toEqual([0, -1]);
  });

  it('after a step outside does not affect an open window', async () => {
    await create({ gradientAccumulationSteps: 2, amp: { lossScale: { initial: 1024, growthInterval: 1 } } });
    const { steps, values } = twoOptimizers();
    accelerator.accumulate(() => steps[0](1));
    steps[1](3);
    accelerator.accumulate(() => steps[0](1));
    expect(values()).toEqual([-1, -3]);
  });

  it('scales nothing twice if a step is repeated', async () => {
    await create({ amp: { lossScale: { initial: 1024, growthInterval: 7, growthFactor: 4 } } });
    const { steps, values, variables } = twoOptimizers();
    const both = accelerator.compile(() => {
      steps.forEach((step) => step(1));
      return variables[0]!.add(0);
    });
    for (let i = 1; i <= 12; i++) {
      both().dispose();
      expect(values()).toEqual([-i, -i]);
    }
  });
});

it('gradients of an accumulated micro-batch are those of the unscaled loss', async () => {
  await create({ gradientAccumulationSteps: 2 });
  const w = tf.variable(tf.scalar(2));
  accelerator.prepare([w]);
  const gradient = () => tf.variableGrads(() => w.square() as tf.Scalar).grads[w.name]!.dataSync()[0];
  expect(accelerator.accumulate(gradient)).toBe(4);
});

it('a step that was skipped while ranks trained alone does not affect later steps', async () => {
  await create({});
  const w = tf.variable(tf.scalar(0));
  const [, optimizer] = accelerator.prepare([w], tf.train.sgd(1));
  const local = new LocalSGD(accelerator, [w]);
  optimizer.minimize(() => w.mul(Infinity) as tf.Scalar);
  local.end();
  optimizer.applyGradients({ [w.name]: tf.scalar(1) });
  expect(accelerator.optimizerStepWasSkipped).toBe(false);
  expect(w.dataSync()[0]).toBe(-1);
});

describe('if ranks shard gradients', () => {
  const sharded: Strategy = { ...singleStrategy(), name: 'shards', traits: { parameters: 'sharded' } };
  const scaled = { amp: { lossScale: { initial: 1024 } } };

  it('the strategy decides for all shards whether a step is skipped, once per step', async () => {
    const asked: number[][] = [];
    let isFiniteElsewhere = true;
    const allFinite: Strategy['allFinite'] = (grads) => {
      asked.push(grads.map((grad) => grad.dataSync()[0]!));
      return isFiniteElsewhere;
    };
    const plugin = {
      name: 'looks-twice',
      settle: (_: unknown, info: { allFinite(): boolean }) => info.allFinite(),
    };
    await create({ ...scaled, strategy: { ...sharded, allFinite }, plugins: [plugin] });
    const { steps, values } = twoOptimizers();
    expect(steps[0](1)).toBe(false);
    isFiniteElsewhere = false;
    expect(steps[0](1)).toBe(true);
    expect(asked).toEqual([[1], [1]]);
    expect(values()).toEqual([-1, 0]);
  });

  it('a strategy without allFinite is an error, not the answer of one shard', async () => {
    await create({ ...scaled, strategy: sharded });
    const { steps } = twoOptimizers();
    expect(() => steps[0](1)).toThrowError(expect.objectContaining({ code: 'ACC_STRATEGY_CANNOT' }));
  });

  it('no rank trains independently', async () => {
    await create({ strategy: sharded });
    const w = tf.variable(tf.scalar(0));
    accelerator.prepare([w]);
    const refused = expect.objectContaining({ code: 'ACC_STRATEGY_CANNOT' }) as Error;
    expect(() => new LocalSGD(accelerator, [w])).toThrowError(refused);
    await expect(accelerator.joinUnevenInputs(() => 1)).rejects.toThrowError(refused);
  });
});

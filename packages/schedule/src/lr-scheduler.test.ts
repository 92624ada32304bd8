import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { LRScheduler } from './lr-scheduler.js';
import { scaleLearningRate } from './scale-learning-rate.js';

beforeAll(() => tf.setBackend('cpu'));

/**
 * The rates of PyTorch 2.13 with SGD at 0.1, before each of the steps from 0: LinearLR(1, 0.2, 8), CosineAnnealingLR(12,
 * eta_min=0.01), PolynomialLR(8, 2), OneCycleLR(0.5, total_steps=12), the same with pct_start=0.5, div_factor=10 and
 * final_div_factor=100, StepLR(3, 0.5). Those with a warm-up of w are
 * SequentialLR([LambdaLR(lambda k: k / w), schedule], [w]) with ConstantLR(1), LinearLR(1, 0, 7), CosineAnnealingLR(8),
 * PolynomialLR(8, 0.5) and StepLR(4).
 */
const PYTORCH: [string, (optimizer: tf.Optimizer) => LRScheduler, number[]][] = [
  [
    'constant',
    (o) => LRScheduler.constant(o, { warmupSteps: 4 }),
    [0.0, 0.025, 0.05, 0.075, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1],
  ],
  [
    'linear',
    (o) => LRScheduler.linear(o, { totalSteps: 8, endLr: 0.02 }),
    [0.1, 0.09, 0.08, 0.07, 0.06, 0.05, 0.04, 0.03, 0.02, 0.02, 0.02, 0.02],
  ],
  [
    'linear with warm-up',
    (o) => LRScheduler.linear(o, { totalSteps: 10, warmupSteps: 3 }),
    [
      0.0, 0.0333333333, 0.0666666667, 0.1, 0.0857142857, 0.0714285714, 0.0571428571, 0.0428571429,
      0.0285714286, 0.0142857143, 0.0, 0.0,
    ],
  ],
  [
    'cosine',
    (o) => LRScheduler.cosine(o, { totalSteps: 12, endLr: 0.01 }),
    [
      0.1, 0.0984666622, 0.0939711432, 0.0868198052, 0.0775, 0.066646857, 0.055, 0.043353143, 0.0325,
      0.0231801948, 0.0160288568, 0.0115333378,
    ],
  ],
  [
    'cosine with warm-up',
    (o) => LRScheduler.cosine(o, { totalSteps: 12, warmupSteps: 4 }),
    [
      0.0, 0.025, 0.05, 0.075, 0.1, 0.0961939766, 0.0853553391, 0.0691341716, 0.05, 0.0308658284,
      0.0146446609, 0.00380602337,
    ],
  ],
  [
    'polynomial',
    (o) => LRScheduler.polynomial(o, { totalSteps: 8, power: 2 }),
    [0.1, 0.0765625, 0.05625, 0.0390625, 0.025, 0.0140625, 0.00625, 0.0015625, 0.0, 0.0, 0.0, 0.0],
  ],
  [
    'polynomial with warm-up',
    (o) => LRScheduler.polynomial(o, { totalSteps: 10, warmupSteps: 2, power: 0.5 }),
    [
      0.0, 0.05, 0.1, 0.0935414347, 0.0866025404, 0.0790569415, 0.0707106781, 0.0612372436, 0.05,
      0.0353553391, 0.0, 0.0,
    ],
  ],
  [
    'one cycle',
    (o) => LRScheduler.oneCycle(o, { totalSteps: 12, maxLr: 0.5 }),
    [
      0.02, 0.174894827, 0.43964258, 0.497207718, 0.466506485, 0.405872827, 0.323689499, 0.231318551,
      0.141530499, 0.0667387651, 0.0172834937, 2e-6,
    ],
  ],
  [
    'one cycle of another form',
    (o) =>
      LRScheduler.oneCycle(o, {
        totalSteps: 12,
        maxLr: 0.5,
        warmupSteps: 5,
        startDivisor: 10,
        endLr: 0.0005,
      }),
    [
      0.05, 0.0929711763, 0.205471176, 0.344528824, 0.457028824, 0.5, 0.466539845, 0.375125, 0.25025,
      0.125375, 0.0339601554, 0.0005,
    ],
  ],
  [
    'step',
    (o) => LRScheduler.step(o, { stepSize: 3, gamma: 0.5 }),
    [0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025, 0.025, 0.025, 0.0125, 0.0125, 0.0125],
  ],
  [
    'step with warm-up',
    (o) => LRScheduler.step(o, { stepSize: 4, warmupSteps: 2 }),
    [0.0, 0.05, 0.1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01, 0.01, 0.001, 0.001],
  ],
];

const rateOf = (optimizer: tf.Optimizer) => (optimizer as unknown as { learningRate: number }).learningRate;

describe('a schedule', () => {
  it.each(PYTORCH)("has PyTorch's rates: %s", (_, make, expected) => {
    const optimizer = tf.train.adam(0.1);
    const scheduler = make(optimizer);
    const rates = expected.map(() => {
      const rate = rateOf(optimizer);
      expect(scheduler.learningRate).toBe(rate);
      scheduler.step();
      return rate;
    });
    expectClose(rates, expected, { rtol: 1e-8, atol: 1e-10 });
  });

  it("sets the rate that tfjs's own optimizer steps use", () => {
    for (const optimizer of [tf.train.sgd(1), tf.train.momentum(1, 0)]) {
      const w = tf.variable(tf.scalar(0));
      const scheduler = LRScheduler.step(optimizer, { stepSize: 1, gamma: 0.5 });
      for (let i = 0; i < 3; i++) {
        optimizer.minimize(() => w.mul(1) as tf.Scalar, false, [w]);
        scheduler.step();
      }
      expect(w.dataSync()[0]).toBe(-1.75);
    }
  });

  it('continues from its state', () => {
    const make = (o: tf.Optimizer) => LRScheduler.cosine(o, { totalSteps: 20, warmupSteps: 3 });
    const [first, second] = [make(tf.train.adam(0.1)), make(tf.train.adam(0.1))];
    for (let i = 0; i < 7; i++) first.step();
    second.setState(JSON.parse(JSON.stringify(first.getState())) as { count: number });
    expect(second.learningRate).toBe(first.learningRate);
    first.step();
    second.step();
    expect(second.learningRate).toBe(first.learningRate);
  });

  it.each<[string, string, () => unknown]>([
    [
      'an unknown option',
      'ACC_UNKNOWN_OPTION',
      () => LRScheduler.linear(tf.train.sgd(1), { totalStep: 3 } as never),
    ],
    ['no end', 'ACC_INVALID_OPTION', () => LRScheduler.cosine(tf.train.sgd(1), {} as never)],
    [
      'a warm-up to the end',
      'ACC_INVALID_OPTION',
      () => LRScheduler.linear(tf.train.sgd(1), { totalSteps: 3, warmupSteps: 3 }),
    ],
    ['an optimizer without a rate', 'ACC_SCHEDULE_OPTIMIZER', () => LRScheduler.constant({} as tf.Optimizer)],
    [
      'samples without prepared data',
      'ACC_SCHEDULE_SAMPLES',
      () => LRScheduler.constant(tf.train.sgd(1), { unit: 'samples' }).step(),
    ],
  ])('refuses %s', (_, code, run) => {
    expect(run).toThrowError(expect.objectContaining({ code }));
  });
});

it('rates are scaled for ranks', () => {
  expect(scaleLearningRate(0.1, 4, 'linear')).toBe(0.4);
  expect(scaleLearningRate(0.1, 4, 'squareRoot')).toBe(0.2);
});

import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Accelerator } from '../accelerator.js';

// Steps whose kernels write in place into tensors that the step makes.

let accelerator: Accelerator;
beforeEach(async () => {
  accelerator = await Accelerator.create({ engine: 'acc', seed: 1 });
});
afterEach(() => accelerator.freeMemory());

const ON_CONSTANTS: Record<string, (x: tf.Tensor1D) => tf.Tensor> = {
  scatterND: (x) => x.mul(tf.scatterND(tf.tensor2d([[1], [3]], [2, 1], 'int32'), tf.tensor1d([5, 7]), [4])),
  floorDiv: (x) => x.add(tf.range(-4, 4).slice(0, 4).floorDiv(3)),
  step: (x) => x.mul(tf.step(tf.tensor1d([-2, 3, NaN, 0.5])).mul(2)),
  addN: (x) => x.mul(tf.addN([tf.ones([4]), tf.tensor1d([1, 2, 3, 4]), tf.fill([4], 3)])),
  'a running sum': (x) => x.mul(tf.cumsum(tf.tensor1d([1, 2, 3, 4]).add(tf.ones([4])))),
};

describe.each(['plain', 'exact', true] as const)('with fuse: %s', (fuse) => {
  it.each(Object.entries(ON_CONSTANTS))('constants that a kernel writes in place: %s', (_, run) => {
    const step = accelerator.compile((x: tf.Tensor1D) => tf.tidy(() => run(x)), { fuse });
    for (let i = 0; i < 5; i++) {
      const x = tf.tensor1d([1, 2, 3, 4]).add(i) as tf.Tensor1D;
      expect(step(x).dataSync()).toEqual(run(x).dataSync());
    }
    expect(step.replays).toBe(2);
  });

  it('a batch norm that is called twice has the statistics of both batches', () => {
    const build = () => {
      const [norm, dense] = [
        tf.layers.batchNormalization({ inputShape: [3] }),
        tf.layers.dense({ units: 1, useBias: false, kernelInitializer: 'ones' }),
      ];
      return { model: tf.sequential({ layers: [norm, dense] }), norm };
    };
    const train = (isCompiled: boolean): number[][] => {
      const { model, norm } = build();
      const optimizer = tf.train.sgd(0.1);
      const prepared = accelerator.prepare(model, optimizer)[0];
      const call = (x: tf.Tensor) => prepared.apply(x, { training: true }) as tf.Tensor;
      const plain = (real: tf.Tensor, created: tf.Tensor) =>
        optimizer.minimize(() => call(real).sub(call(created)).square().mean() as tf.Scalar, true)!;
      const step = isCompiled ? accelerator.compile(plain, { fuse }) : plain;
      for (let i = 0; i < 6; i++) {
        const real = tf.randomNormal([8, 3], 1, 2, 'float32', i + 1);
        const made = tf.randomNormal([8, 3], -2, 0.5, 'float32', 50 + i);
        step(real, made).dispose();
      }
      if (isCompiled) expect((step as ReturnType<typeof accelerator.compile>).replays).toBe(3);
      return norm.getWeights().map((weight) => [...weight.dataSync()]);
    };
    const plain = train(false);
    train(true).forEach((values, i) =>
      values.forEach((value, j) => expect(value).toBeCloseTo(plain[i]![j]!, fuse === true ? 5 : 7)),
    );
  });
});

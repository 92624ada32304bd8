// A loop that combines gradients itself. Ranks take different numbers of backward passes for one
// step, and use different variables. Reports the weights after a few steps, and the gradients of a
// pass.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { disposeOptimizers } from '../dispose-optimizers.js';

const codeOf = (fn: () => void): string => {
  try {
    fn();
    return 'none';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

export default async function syncAtApply() {
  const accelerator = await Accelerator.create({ ddp: { syncAt: 'apply' } });
  const { processIndex: rank, numProcesses: size } = accelerator;
  const w = tf.variable(tf.tensor1d([1, 2]), true, 'w');
  const sometimes = tf.variable(tf.scalar(5), true, 'sometimes');
  const never = tf.variable(tf.scalar(9), true, 'never');
  const unprepared = tf.variable(tf.scalar(3), true, 'unprepared');
  const prepared = [w, sometimes, never];
  accelerator.prepare(prepared);
  const optimizer = accelerator.prepare(tf.train.momentum(0.1, 0.5) as tf.Optimizer);
  const all = [w, sometimes, never, unprepared];
  const before = tf.memory().numTensors;
  let local: number[] = [];
  let refused = '';
  for (let step = 0; step < 3; step++) {
    tf.tidy(() => {
      // Rank r takes r + 1 passes and adds their gradients: r + 1 times 2 (r + 1) w.
      let sum: tf.Tensor = tf.zeros([2]);
      let grads: tf.NamedTensorMap = {};
      for (let pass = 0; pass <= rank; pass++) {
        const loss = () => {
          const own = w
            .square()
            .mul(rank + 1)
            .sum()
            .add(unprepared.mul(rank + 1));
          return (rank === size - 1 ? own.add(sometimes) : own) as tf.Scalar;
        };
        grads = tf.variableGrads(loss, all).grads;
        local = [...grads['w']!.dataSync()];
        sum = sum.add(grads['w']!);
      }
      const { unprepared: ofUnprepared, ...ofPrepared } = grads;
      // One process may apply its own gradients.
      if (size > 1)
        refused = codeOf(() => optimizer.applyGradients({ ...ofPrepared, unprepared: ofUnprepared! }));
      optimizer.applyGradients({ ...ofPrepared, w: sum });
    });
    // minimize uses the same code, and returns a list.
    tf.tidy(() => {
      optimizer.minimize(() => w.mul(rank).sum() as tf.Scalar, false, prepared);
    });
  }
  const result = {
    weights: all.map((variable) => [...variable.dataSync()]),
    local,
    refused,
    leaked: tf.memory().numTensors - before - 3,
  };
  accelerator.freeMemory();
  disposeOptimizers(optimizer);
  tf.dispose(all);
  return result;
}

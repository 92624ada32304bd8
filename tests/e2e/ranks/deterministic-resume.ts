// Trains deterministically for three epochs, from a checkpoint if there is one. Returns the
// weights.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader } from '@acc/core';
import { mlp } from './deterministic-models.js';
import { hashOfWeights, noisyLoss } from './deterministic-runs.js';

const EPOCHS = 3;
const BATCH = 16;

interface Args {
  /** The folder of checkpoints. */
  readonly dir: string;
  /** The number of batches after which it saves and ends. 0: never. */
  readonly endsAfter: number;
}

export default async function deterministicResume({ dir, endsAfter }: Args) {
  const accelerator = await Accelerator.create({
    deterministic: true,
    dataLoader: { splitBatches: true },
    checkpoint: { dir },
  });
  const task = mlp(5 * BATCH);
  const loader = new DataLoader({ xs: task.xs, ys: task.ys }, { batchSize: BATCH, shuffle: true });
  const [, optimizer, data] = accelerator.prepare(task.model, tf.train.adam(0.01), loader);
  const restored = await accelerator.loadState('latest', { ifPresent: true });
  let step = restored?.step ?? 0;
  const isOver = () => step === EPOCHS * 5 || (endsAfter > 0 && step === endsAfter);

  while (!isOver()) {
    for await (const batch of data) {
      optimizer.minimize(() => noisyLoss(task, batch as { xs: tf.Tensor; ys: tf.Tensor }));
      tf.dispose(batch);
      step++;
      if (step === endsAfter) await accelerator.saveState();
      if (isOver()) break;
    }
  }
  const result = { step, weights: hashOfWeights(task.model) };
  accelerator.freeMemory();
  tf.disposeVariables();
  return result;
}

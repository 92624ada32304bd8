// Trains deterministically for three epochs, from a checkpoint if there is one. Reports the
// weights. Arguments: the folder of checkpoints, and the number of batches after which it saves and
// ends (0: never).
import { createHash } from 'node:crypto';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader } from '@acc/core';
import { reportResult } from '@acc/testkit';
import { mlp } from './deterministic-models.js';

const [dir, endText] = process.argv.slice(2) as [string, string];
const endsAfter = Number(endText);
const EPOCHS = 3;
const BATCH = 16;

const accelerator = await Accelerator.create({
  deterministic: true,
  dataLoader: { splitBatches: true },
  checkpoint: { dir },
});
const { model: built, xs, ys, loss } = mlp(5 * BATCH);
const loader = new DataLoader({ xs, ys }, { batchSize: BATCH, shuffle: true });
const [model, optimizer, data] = accelerator.prepare(built, tf.train.adam(0.01), loader);
const restored = await accelerator.loadState('latest', { ifPresent: true });
let step = restored?.step ?? 0;
const isOver = () => step === EPOCHS * 5 || (endsAfter > 0 && step === endsAfter);

while (!isOver()) {
  for await (const batch of data) {
    const given = batch as { xs: tf.Tensor; ys: tf.Tensor };
    optimizer.minimize(() => {
      const logits = model.apply(given.xs, { training: true }) as tf.Tensor;
      return loss(given.ys, logits.mul(tf.randomUniform([given.xs.shape[0]!, 1], 0.9, 1.1))).asScalar();
    });
    tf.dispose(batch);
    step++;
    if (step === endsAfter) await accelerator.saveState();
    if (isOver()) break;
  }
}
const hash = createHash('sha256');
for (const weight of built.getWeights()) hash.update(new Uint8Array(weight.dataSync().buffer));
reportResult({ step, weights: hash.digest('hex') });
await accelerator.endTraining();

// Checkpoints: a program that was stopped goes on where it was, on any number of processes.
//   npx acc launch -n 2 examples/by-feature/checkpointing.ts
import { Accelerator, DataLoader, setSeed } from '@acc/core';
import * as tf from '@tensorflow/tfjs';
import { createModel, readDigits, readSizes } from '../digits.js';

const accelerator = await Accelerator.create({
  // Batch sizes are those of all processes together, so any number of them takes the same steps.
  dataLoader: { splitBatches: true },
  // + With this option, SIGTERM, SIGUSR1 and Ctrl-C also cause a save. See also `acc launch --max-restarts`.
  checkpoint: { dir: 'checkpoints', keepLast: 2 },
  // -
});
const { epochs, rows, batchSize } = readSizes();

setSeed(7);
const { train, heldBack } = readDigits(rows);
const [model, optimizer, data, testData] = accelerator.prepare(
  createModel(),
  tf.train.adam(2e-3),
  new DataLoader(train, { batchSize, shuffle: true }),
  new DataLoader(heldBack, { batchSize: 480 }),
);

/** One step. Returns the loss of the digits of this process. */
const step = (xs: tf.Tensor, ys: tf.Tensor): tf.Scalar =>
  accelerator.accumulate(() => optimizer.minimize(() => lossOf(xs, ys), true)!);

// +
// was: for (let epoch = 0; epoch < epochs; epoch++) {
const run = await accelerator.loadState('latest', { ifPresent: true });
for (let epoch = run?.epoch ?? 0; epoch < epochs; epoch++) {
  // -
  const losses: tf.Scalar[] = [];
  for await (const { xs, ys } of data) {
    losses.push(step(xs, ys));
    tf.dispose([xs, ys]);
  }
  const loss = await meanOverProcesses(losses);
  accelerator.print(`epoch ${epoch + 1}: loss ${loss.toFixed(6)}`);
  // +
  await accelerator.saveState();
  // -
}

const testLosses: tf.Scalar[] = [];
for await (const { xs, ys } of testData) {
  testLosses.push(tf.tidy(() => lossOf(xs, ys)));
  tf.dispose([xs, ys]);
}
accelerator.print(`held-back digits: loss ${(await meanOverProcesses(testLosses)).toFixed(6)}`);
await accelerator.endTraining();

/** The mean cross-entropy of a batch. */
function lossOf(xs: tf.Tensor, ys: tf.Tensor): tf.Scalar {
  return tf.losses.softmaxCrossEntropy(tf.oneHot(ys, 10), model.apply(xs) as tf.Tensor2D);
}

/** The mean of losses of all processes. Disposes them. */
async function meanOverProcesses(losses: tf.Scalar[]): Promise<number> {
  const mean = tf.tidy(() => accelerator.reduce(tf.mean(tf.stack(losses)), 'mean'));
  const [value] = await mean.data();
  tf.dispose([mean, losses]);
  return value!;
}

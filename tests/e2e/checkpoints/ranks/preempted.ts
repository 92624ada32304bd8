// A training that saves every few steps and resumes. Prints the current step, and the result at the
// end.
import * as tf from '@tensorflow/tfjs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Accelerator, DataLoader, setSeed } from '@acc/core';

const [loop, folder] = process.argv.slice(2) as ['custom' | 'fit' | 'self-fed' | 'stuck', string];
const ROWS = 128;
const EPOCHS = 4;

setSeed(3);
const accelerator = await Accelerator.create({ checkpoint: { dir: folder, keepLast: 2 } });
const say = (step: number) => console.log(`pid ${process.pid} step ${step}`);
const xs = tf.tidy(() => tf.sin(tf.range(0, ROWS * 4)).reshape([ROWS, 4]) as tf.Tensor2D);
const ys = tf.tidy(() => tf.cos(tf.range(0, ROWS)).reshape([ROWS, 1]) as tf.Tensor2D);
const model = tf.sequential({
  layers: [
    tf.layers.dense({ units: 8, inputShape: [4], activation: 'tanh' }),
    tf.layers.dropout({ rate: 0.2 }),
    tf.layers.dense({ units: 1 }),
  ],
});
const optimizer = tf.train.adam(0.02);
const count = { steps: 0 };
accelerator.registerForCheckpointing({
  getState: () => ({ ...count }),
  setState: (state: typeof count) => Object.assign(count, state),
});
const afterBatch = async () => {
  count.steps++;
  say(count.steps);
  // Where it is stuck, no step follows after which it could save.
  await sleep(loop === 'stuck' && count.steps === 3 ? 600_000 : 15);
  if (count.steps % 5 === 0) await accelerator.saveState();
};
const loss = (batch: { xs: tf.Tensor; ys: tf.Tensor }) =>
  tf.losses.meanSquaredError(batch.ys, model.apply(batch.xs, { training: true }) as tf.Tensor).asScalar();

if (loop === 'custom' || loop === 'stuck') {
  const loader = new DataLoader({ xs, ys }, { batchSize: 4, shuffle: true });
  const [, , data] = accelerator.prepare(model, optimizer, loader);
  const run = await accelerator.loadState('latest', { ifPresent: true });
  for (let epoch = run?.epoch ?? 0; epoch < EPOCHS; epoch++) {
    for await (const batch of data) {
      optimizer.minimize(() => loss(batch));
      tf.dispose(batch);
      await afterBatch();
    }
  }
} else if (loop === 'fit') {
  model.compile({ optimizer, loss: 'meanSquaredError' });
  accelerator.prepare(model);
  await accelerator.loadState('latest', { ifPresent: true });
  await model.fit(xs, ys, {
    batchSize: 4,
    epochs: EPOCHS,
    verbose: 0,
    callbacks: { onBatchEnd: afterBatch },
  });
} else {
  accelerator.prepare(model, optimizer);
  await accelerator.loadState('latest', { ifPresent: true });
  while (count.steps < 64) {
    const first = (count.steps * 4) % ROWS;
    tf.tidy(() => {
      const batch = { xs: xs.slice([first, 0], [4, 4]), ys: ys.slice([first, 0], [4, 1]) };
      optimizer.minimize(() => loss(batch));
    });
    await afterBatch();
    await accelerator.checkPreemption();
  }
}
if (accelerator.isMainProcess)
  console.log(`ended ${JSON.stringify(model.getWeights().map((w) => [...w.dataSync()]))}`);
await accelerator.endTraining();

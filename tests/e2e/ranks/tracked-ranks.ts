// Logs on several ranks over prepared data, and reports what the trackers of each rank received.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader, type Tracker } from '@acc/core';
import { reportResult } from '@acc/testkit';

const got: Record<string, unknown[]> = { everywhere: [], main: [] };
const runs: unknown[] = [];

function collecting(name: 'everywhere' | 'main'): Tracker {
  return {
    name,
    ...(name === 'everywhere' && { ranks: 'all' as const }),
    start: (run) => Promise.resolve(void runs.push({ name, id: run.id, rank: run.rank, size: run.size })),
    log: (step, metrics) => void got[name]!.push([step, metrics]),
    finish: (status) => Promise.resolve(void got[name]!.push(status)),
  };
}

const accelerator = await Accelerator.create({
  logWith: [collecting('everywhere'), collecting('main')],
  projectDir: process.argv[2]!,
});
const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
const loader = new DataLoader({ xs: tf.ones([16, 2]), ys: tf.zeros([16, 1]) }, { batchSize: 2 });
const [, optimizer, data] = accelerator.prepare(model, tf.train.sgd(0.1), loader);
await accelerator.initTrackers('ranks');
for await (const { xs, ys } of data) {
  optimizer.minimize(() => tf.losses.meanSquaredError(ys, model.apply(xs) as tf.Tensor));
  accelerator.log({ rank: accelerator.processIndex });
  tf.dispose([xs, ys]);
}
const names = ['everywhere', 'main'].map((name) => accelerator.getTracker(name)?.name);
await accelerator.endTraining();
reportResult({ got, runs, names });

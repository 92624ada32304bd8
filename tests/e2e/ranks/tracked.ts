// A training that logs, and ends as its first argument says. With a third argument, an earlier
// Accelerator left a run open in that folder.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader } from '@acc/core';
import { reportResult } from '@acc/testkit';

const [way, projectDir, earlier] = process.argv.slice(2) as [string, string, string?];
if (earlier) {
  const first = await Accelerator.create({ logWith: ['jsonl'], projectDir: earlier });
  await first.initTrackers('endings');
  first.freeMemory();
}
const accelerator = await Accelerator.create({ logWith: ['jsonl'], projectDir });
const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
const [, optimizer] = accelerator.prepare(model, tf.train.sgd(0.01));
await accelerator.initTrackers('endings', { way });

function step(): void {
  const loss = optimizer.minimize(
    () => tf.tidy(() => tf.mean(model.predict(tf.ones([2, 2])) as tf.Tensor)).asScalar(),
    true,
  )!;
  accelerator.log({ loss });
  loss.dispose();
}

for (let i = 0; i < 5; i++) step();
const ways: Record<string, () => Promise<void> | void> = {
  end: async () => {
    await accelerator.endTraining();
    reportResult('ended');
  },
  fail: () => accelerator.endTraining('failed'),
  leave: () => undefined,
  throw: () => {
    throw new Error('the loop is broken');
  },
  reject: () => Promise.reject(new Error('nobody waits')),
  exit: () => process.exit(7),
  // As busy as a training, with turns of the event loop between batches.
  wait: async () => {
    console.log('waiting');
    for (;;) {
      step();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  },
  // Epochs over data in memory that are short, and never wait.
  epochs: async () => {
    const data = accelerator.prepare(new DataLoader(tf.ones([4, 2]), { batchSize: 2 }));
    console.log('waiting');
    for (;;) {
      for await (const batch of data) {
        step();
        batch.dispose();
      }
    }
  },
  // Like `wait`, with a signal handler of the program.
  handle: async () => {
    process.on('SIGTERM', () => {
      void accelerator.endTraining('aborted').then(() => process.exit(3));
    });
    await ways['wait']!();
  },
  // A loop that blocks the event loop.
  busy: () => {
    console.log('waiting');
    for (;;) step();
  },
};
await ways[way]!();

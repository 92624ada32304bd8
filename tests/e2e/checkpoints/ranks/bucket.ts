// Saves to a bucket twice and resumes from it. Reports the contents of the bucket and the weights.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, s3Storage } from '@acc/core';
import { reportResult } from '@acc/testkit';

const [endpoint, accessKeyId, secretAccessKey] = process.argv.slice(2) as [string, string, string];
const storage = s3Storage({
  bucket: 'runs',
  prefix: 'a run',
  endpoint,
  credentials: { accessKeyId, secretAccessKey },
  partBytes: 5 * 1024 * 1024,
});
const make = async () => {
  const accelerator = await Accelerator.create({ checkpoint: { storage, keepLast: 1, async: true } });
  // Larger than one part of an upload.
  const w = tf.variable(tf.zeros([2_000_000]));
  const [, optimizer] = accelerator.prepare([w], tf.train.momentum(0.5, 0.9));
  const train = () => optimizer.minimize(() => w.square().sum().sub(w.sum()) as tf.Scalar);
  return { accelerator, w, train };
};

const first = await make();
first.train();
await first.accelerator.saveState();
first.train();
await first.accelerator.saveState();
await first.accelerator.waitForCheckpoint();
first.train();
const expected = first.w.dataSync().slice(0, 2);
first.accelerator.freeMemory();

const second = await make();
const { step } = await second.accelerator.loadState();
second.train();
const values = new Set(second.w.dataSync());
reportResult({
  step,
  expected: [...expected],
  values: [...values],
  keys: (await storage.list('')).map(({ key }) => key).sort(),
});
await second.accelerator.endTraining();

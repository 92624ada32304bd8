// Two ranks save to a bucket that does not exist, denies access to one of them, or cannot be
// reached. Reports the result of both.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, isAccError, s3Storage, type S3StorageOptions } from '@acc/core';
import { reportResult } from '@acc/testkit';

const [endpoint, accessKeyId, secretAccessKey] = process.argv.slice(2) as [string, string, string];
const isSecond = process.env.RANK === '1';
const good = { bucket: 'runs', prefix: 'failing', endpoint, credentials: { accessKeyId, secretAccessKey } };
const w = tf.variable(tf.zeros([40_000]));

async function outcomeOf(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    if (!isAccError(error)) throw error;
    return { code: error.code, ranks: error.details['ranks'] ?? null };
  }
}

/** Saves, then searches for the latest checkpoint. */
async function attempt(options: S3StorageOptions) {
  const checkpoint = { storage: s3Storage(options), preemption: false };
  const accelerator = await Accelerator.create({ checkpoint });
  accelerator.prepare([w], tf.train.sgd(1));
  const saved = await outcomeOf(() => accelerator.saveState());
  const loaded = await outcomeOf(() => accelerator.loadState('latest', { ifPresent: true }));
  accelerator.freeMemory();
  return { saved, loaded: loaded ?? null };
}

const refused = { ...good, credentials: { accessKeyId, secretAccessKey: 'wrong' } };
reportResult({
  'one rank refused': await attempt(isSecond ? refused : good),
  'all refused': await attempt(refused),
  'no bucket': await attempt({ ...good, bucket: 'none' }),
  'out of reach': await attempt({ ...good, endpoint: 'http://127.0.0.1:1' }),
  'nothing left': (await s3Storage(good).list('')).map(({ key }) => key),
});
await (await Accelerator.create()).endTraining();

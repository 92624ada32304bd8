// Two ranks. The second cannot write, its data cannot be kept, or it reads wrong data. Reports the
// result of both.
import * as tf from '@tensorflow/tfjs';
import { readdirSync } from 'node:fs';
import { Accelerator, fileStorage, isAccError, type Storage } from '@acc/core';
import { reportResult } from '@acc/testkit';

const [folder] = process.argv.slice(2) as [string];
const isSecond = process.env.RANK === '1';
const trouble = { put: false, get: false, marker: false };

const files = fileStorage(folder);
/**
 * Faults of the storage. On the second rank: a full disk, or one that returns other bytes than were
 * written. On the first rank: an error when it writes markers.
 */
const storage: Storage = {
  ...files,
  async put(key, content) {
    if (isSecond && trouble.put) return full(content);
    await files.put(key, content);
    if (trouble.marker && key.endsWith('checkpoint.json')) throw new Error('EIO: fsync');
  },
  async get(key, options) {
    const bytes = await files.get(key, options);
    if (isSecond && trouble.get && key.endsWith('.safetensors')) bytes[0]! ^= 1;
    return bytes;
  },
};

async function full(content: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
  if (!(content instanceof Uint8Array)) for await (const piece of content) void piece;
  throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
}

interface Met {
  readonly code: string;
  readonly ranks: unknown;
}

async function codeOf(work: () => Promise<unknown>): Promise<Met | unknown> {
  try {
    return await work();
  } catch (error) {
    if (!isAccError(error)) throw error;
    return { code: error.code, ranks: error.details['ranks'] ?? null };
  }
}

const results: Record<string, unknown> = {};
const w = tf.variable(tf.zeros([40_000]));
const make = async (options: object = {}) => {
  const accelerator = await Accelerator.create({ checkpoint: { storage, preemption: false, ...options } });
  const [, optimizer] = accelerator.prepare([w], tf.train.sgd(1));
  return { accelerator, step: () => optimizer.minimize(() => w.sum() as tf.Scalar) };
};
const names = () => readdirSync(folder, { recursive: true }).map(String).sort();

let { accelerator, step } = await make();
step();
results['saved'] = await accelerator.saveState();
const before = names();
step();
trouble.put = true;
results['cannot write'] = await codeOf(() => accelerator.saveState());
results['behind'] = await codeOf(() => accelerator.saveState(undefined, { async: true }));
results['told by the next'] = await codeOf(() => accelerator.saveState());
results['or when it is waited for'] = await codeOf(async () => {
  await accelerator.saveState(undefined, { async: true });
  await accelerator.waitForCheckpoint();
});
trouble.put = false;
accelerator.waitForEveryone();
results['nothing is left'] = JSON.stringify(names()) === JSON.stringify(before);

const kept = { state: (): unknown => 1 };
accelerator.registerForCheckpointing({ getState: () => kept.state(), setState: () => {} });
if (isSecond) kept.state = () => new Map();
results['cannot be kept'] = await codeOf(() => accelerator.saveState());
kept.state = () => 1;
accelerator.freeMemory();

({ accelerator, step } = await make({ onError: 'warn' }));
trouble.put = true;
results['goes on'] = (await codeOf(() => accelerator.saveState())) ?? 'undefined';
trouble.put = false;
step();
results['saved again'] = await accelerator.saveState();
step();

trouble.get = true;
results['reads something else'] = await codeOf(() => accelerator.loadState('latest'));
results['weight stays'] = w.dataSync()[0];
trouble.get = false;
results['loads'] = await codeOf(() => accelerator.loadState('latest'));
results['weight'] = w.dataSync()[0];
accelerator.freeMemory();

({ accelerator, step } = await make());
step();
trouble.marker = true;
results['is not sure'] = await codeOf(() => accelerator.saveState());
trouble.marker = false;
step();
results['loads what may be there'] = await codeOf(() => accelerator.loadState('latest'));
results['its weight'] = w.dataSync()[0];
accelerator.freeMemory();
reportResult(results);
await (await Accelerator.create()).endTraining();

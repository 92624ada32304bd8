// A program whose disk fills up. `log`: at the end of a training that two trackers record. `all` and
// `last`: while a checkpoint is saved in the background, on all ranks or on the last one, and nothing
// asks how that ended.
import * as tf from '@tensorflow/tfjs';
import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { poll } from '@acc/contract';
import { Accelerator, fileStorage, type Storage } from '@acc/core';

const FILES = ['metrics.jsonl', 'metrics.csv'];

const [way, folder] = process.argv.slice(2) as [string, string];

console.log('a start');
const accelerator = await Accelerator.create({
  ...(way === 'log' && { logWith: ['jsonl', 'csv', 'tensorboard'] }),
  projectDir: folder,
  checkpoint: { preemption: false, ...(way === 'last' && { storage: fullOnLast() }) },
});
const w = tf.variable(tf.zeros([10]));
const [, optimizer] = accelerator.prepare([w], tf.train.sgd(1));
const train = () => void optimizer.minimize(() => w.sum() as tf.Scalar);
train();
await (way === 'log' ? log() : save());
console.log('the end');

async function log(): Promise<void> {
  await accelerator.initTrackers('full');
  for (let i = 0; i < 3; i++) accelerator.log({ loss: i });
  if (accelerator.isMainProcess) {
    await poll(() => FILES.every(isWritten) || undefined);
    fill();
  }
  // A new column of csv, and a line that is longer than what is left of the last page of the disk.
  for (let i = 3; i < 6; i++) accelerator.log({ loss: i, ['x'.repeat(5_000)]: i });
  await accelerator.endTraining();
}

/** Whether a file of the run has three lines of values. */
function isWritten(name: string): boolean {
  const path = join(accelerator.runDir!, name);
  return existsSync(path) && (readFileSync(path, 'utf8').match(/^.*\d.*\n/gm)?.length ?? 0) >= 3;
}

/** Takes all space that is left, also of the last page. */
function fill(): void {
  const file = openSync(join(folder, 'fill'), 'a');
  try {
    for (let bytes = 4_096; bytes > 0;) {
      try {
        writeSync(file, Buffer.alloc(bytes));
      } catch {
        bytes = Math.floor(bytes / 2);
      }
    }
  } finally {
    closeSync(file);
  }
}

/** Files of checkpoints, which on the last of two ranks have no room for tensors. */
function fullOnLast(): Storage {
  const files = fileStorage(join(folder, 'checkpoints'));
  const isFull = (key: string) => process.env.RANK === '1' && key.endsWith('.safetensors');
  const full = () => Promise.reject(new Error('ENOSPC: no space left on device'));
  return { ...files, put: (key, content) => (isFull(key) ? full() : files.put(key, content)) };
}

async function save(): Promise<void> {
  const own = tf.zeros([way === 'all' ? 200_000 : 10]);
  accelerator.registerForCheckpointing({ getState: () => ({ own }), setState: () => {} });
  await accelerator.saveState(undefined, { async: true });
}

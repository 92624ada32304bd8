// One process, all of whose file descriptors are in use when it saves. They are free a moment later.
import * as tf from '@tensorflow/tfjs';
import { closeSync, openSync } from 'node:fs';
import { Accelerator } from '@acc/core';

const [dir] = process.argv.slice(2) as [string];

const w = tf.variable(tf.zeros([40_000]));
const accelerator = await Accelerator.create({ checkpoint: { dir, preemption: false } });
const [, optimizer] = accelerator.prepare([w], tf.train.sgd(1));
const step = () => optimizer.minimize(() => w.sum() as tf.Scalar);

// Loads the modules that a save needs.
step();
await accelerator.saveState();

step();
const taken: number[] = [];
try {
  for (;;) taken.push(openSync('/dev/null', 'r'));
} catch (error) {
  process.stdout.write(`${(error as NodeJS.ErrnoException).code}\n`);
}
const saving = accelerator.saveState();
// Later than the first attempts of the save.
setTimeout(() => taken.forEach((fd) => closeSync(fd)), 100);
process.stdout.write(`${await saving}\n`);
step();
const loaded = await accelerator.loadState();
process.stdout.write(`step ${loaded.step}, weight ${w.dataSync()[0]}\n`);
accelerator.freeMemory();

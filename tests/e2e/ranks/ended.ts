// Calls methods of an Accelerator after freeMemory and endTraining, and reports the error codes.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, type AccError } from '@acc/core';
import { reportResult } from '@acc/testkit';

const accelerator = await Accelerator.create();
const w = tf.variable(tf.scalar(accelerator.processIndex));
const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
accelerator.prepare([w], model);
const loss = () => w.square() as tf.Scalar;
const fit = () => model.fit(tf.ones([2, 2]), tf.ones([2, 1]), { verbose: 0 });
await fit();

const calls: Record<string, () => unknown> = {
  prepare: () => accelerator.prepare([w]),
  accumulate: () => accelerator.accumulate(() => 1),
  saveState: () => accelerator.saveState('never'),
  gather: () => accelerator.gather(w),
  waitForEveryone: () => accelerator.waitForEveryone(),
};

/** Of plain tfjs, so that ranks would train apart. */
const steps: Record<string, () => unknown> = {
  minimize: () => tf.train.sgd(0.1).minimize(loss, false, [w]),
  fit,
};

async function codes(calls: Record<string, () => unknown>): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [name, call] of Object.entries(calls)) {
    try {
      await call();
      found[name] = 'none';
    } catch (error) {
      found[name] = (error as AccError).code;
    }
  }
  return found;
}

accelerator.freeMemory();
const freed = await codes(calls);
const own = mkdtempSync(join(tmpdir(), 'acc-ended-'));
const folder = accelerator.broadcastObject(own);
void accelerator.saveModel(model, join(folder, 'model'));
await accelerator.endTraining();
const saved = accelerator.isMainProcess ? readdirSync(join(folder, 'model')).length > 0 : true;
rmSync(own, { recursive: true });
reportResult({ freed, saved, ended: await codes({ ...calls, ...steps }) });

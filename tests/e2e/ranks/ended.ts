// Calls methods of an Accelerator after freeMemory and endTraining, and reports the error codes.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, type AccError } from '@acc/core';
import { reportResult } from '@acc/testkit';

const accelerator = await Accelerator.create();
const w = tf.variable(tf.scalar(accelerator.processIndex));
accelerator.prepare([w]);

const calls: Record<string, () => unknown> = {
  prepare: () => accelerator.prepare([w]),
  accumulate: () => accelerator.accumulate(() => 1),
  saveState: () => accelerator.saveState('never'),
  gather: () => accelerator.gather(w),
  waitForEveryone: () => accelerator.waitForEveryone(),
};

async function codes(): Promise<Record<string, string>> {
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
const freed = await codes();
await accelerator.endTraining();
reportResult({ freed, ended: await codes() });

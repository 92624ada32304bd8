// The errors that ranks get if rank 1 does something else than the others. Arguments: the engine, a
// folder in which the other ranks leave a file when they have the error, and what rank 1 does in
// each case. Reports by case.
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import type { AccError } from '@acc/contract';
import { Accelerator } from '@acc/core';
import { reportResult } from '@acc/testkit';

const [engine, folder, ...chosen] = process.argv.slice(2) as ['shm' | 'gloo', string, ...string[]];
const timeoutMs = chosen.includes('idles') ? 10_000 : 20_000;
const accelerator = await Accelerator.create({ collective: { engine, timeoutMs, joinTimeoutMs: 60_000 } });
const isOdd = accelerator.processIndex === 1;
const modelOf = (units: number) =>
  tf.sequential({ layers: [tf.layers.dense({ units, inputShape: [4], useBias: false })] });
const [small, large] = [modelOf(3), modelOf(50)];
const [, smallOptimizer, , largeOptimizer] = accelerator.prepare(
  small,
  tf.train.sgd(0.1),
  large,
  tf.train.sgd(0.1),
);

function step(model: tf.Sequential, optimizer: tf.Optimizer): void {
  tf.tidy(() => {
    const loss = () => (model.predict(tf.ones([2, 4])) as tf.Tensor).square().mean() as tf.Scalar;
    const variables = model.trainableWeights.map((weight) => weight.read() as tf.Variable);
    optimizer.minimize(loss, false, variables);
  });
}
const smallStep = () => step(small, smallOptimizer);
const largeStep = () => step(large, largeOptimizer);

const rest = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
/** The line of an earlier call, for example in `prepare`, must not be reported for later calls. */
const forgetLines = () => rest(200);

const deeds: Record<string, () => void> = {
  // Rank 1 has less data, and continues with the code after training.
  fewer() {
    for (let i = 0; i < (isOdd ? 3 : 4); i++) smallStep();
    accelerator.waitForEveryone();
  },
  // The same, but rank 2 reaches the call long after the other ranks started to wait for each
  // other.
  'fewer-slow'() {
    for (let i = 0; i < 3; i++) smallStep();
    if (accelerator.processIndex === 2) rest(4_000);
    if (!isOdd) smallStep();
    accelerator.waitForEveryone();
  },
  order() {
    if (isOdd) largeStep();
    smallStep();
    largeStep();
  },
  throws() {
    forgetLines();
    smallStep();
    if (isOdd) throw new Error('the culprit');
    for (;;) smallStep();
  },
  ends() {
    forgetLines();
    smallStep();
    if (isOdd) process.exit(0);
    for (;;) smallStep();
  },
  // It makes no call until the others have their errors.
  idles() {
    smallStep();
    while (isOdd && readdirSync(folder).length < 2) tf.tidy(() => tf.ones([10]).sum().dataSync());
    smallStep();
  },
};

const faults: Record<string, object> = {};
for (const what of chosen) {
  smallStep();
  largeStep();
  const start = Date.now();
  try {
    deeds[what]!();
    faults[what] = { code: 'none' };
  } catch (error) {
    const { code, message } = error as AccError;
    if (code === undefined) throw error;
    faults[what] = { code, message, ms: Date.now() - start };
    writeFileSync(join(folder, String(accelerator.processIndex)), '');
  }
}
reportResult(faults);
process.exit(0);

// The loss or a layer fails on one rank of a pipeline, and the program goes on. Reports the errors and
// the weights after a step that follows.
import { Accelerator } from '@acc/core';
import * as tf from '@tensorflow/tfjs';
import { reportResult } from '@acc/testkit';
import { meanSquares, skipping, SKIPPING_STAGES, xsOf, ysOf } from './models.js';

export interface Caught {
  readonly errors: Record<string, string>;
  /** The losses of steps before, between and after failures. */
  readonly losses: readonly number[];
  readonly leaked: number;
}

const [pipeline, schedule, stages, precision, without] = process.argv.slice(2);
const accelerator = await Accelerator.create({
  engine: 'acc',
  mesh: { data: -1, pipeline: Number(pipeline) },
  mixedPrecision: precision as 'no' | 'bf16',
});
const model = skipping();
accelerator.prepare(model, tf.train.sgd(0.1));
/** The calls of a function of this rank before it throws. */
let left = Infinity;
const counted = () => {
  if (left-- === 0) throw new Error('the culprit');
};
const loss = (y: tf.Tensor, prediction: tf.Tensor) => {
  if (failing === 'loss') counted();
  const mean = meanSquares(y, prediction);
  return weighs ? accelerator.weighLoss(mean, tf.scalar(4)) : mean;
};
for (const name of ['a', 'd']) {
  const layer = model.getLayer(name);
  const call = layer.call.bind(layer);
  layer.call = (...args) => {
    if (failing === name) counted();
    return call(...args);
  };
}
let failing = '';
let weighs = false;
const lines = accelerator.numProcesses / Number(pipeline);
const step = accelerator.pipelined(model, loss, {
  schedule: schedule as '1f1b',
  stages: SKIPPING_STAGES[Number(stages)]!,
  microBatches: 4,
});
const errors: Record<string, string> = {};
const losses: number[] = [];
let taking = step;
const take = (rows: number) => {
  const taken = taking(xsOf(0).slice(0, rows), ysOf(0).slice(0, rows));
  return taken.dataSync()[0]!;
};
function failingStep(what: string, calls: number, rows: number): void {
  if (without) return;
  [failing, left] = [accelerator.processIndex % lines === 0 ? what : '', calls];
  try {
    tf.tidy(() => take(rows));
    errors[`${what} ${calls}`] = 'none';
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    errors[`${what} ${calls}`] = `${code ?? 'own'}: ${message.split('\n')[0]!}`;
  }
  failing = '';
}
// In the first step, shapes of messages are unknown.
if (precision === 'no') failingStep('loss', 0, 16);
losses.push(tf.tidy(() => take(16)));
const before = tf.memory().numTensors;
for (const [what, calls] of [
  ['loss', 2],
  ['a', 1],
  ['d', 0],
  ['d', 3],
] as const) {
  failingStep(what, calls, 16);
}
failingStep('loss', 1, 8);
const leaked = tf.memory().numTensors - before;
losses.push(
  tf.tidy(() => take(8)),
  tf.tidy(() => take(16)),
);

const compiled = accelerator.compile(step);
taking = compiled;
failingStep('loss', 3, 16);
for (let i = 0; i < 4; i++) losses.push(take(16));
errors.replays = String(compiled.replays > 0);
// The rank with the loss reads the tensor, and runs plainly beside others that replay.
weighs = true;
taking = accelerator.compile(step);
for (let i = 0; i < 4; i++) losses.push(take(16));
failingStep('loss', 1, 16);
for (let i = 0; i < 3; i++) losses.push(take(16));
reportResult({ errors, losses, leaked } satisfies Caught);

// The loss or a layer fails on one rank of a pipeline, and the program goes on. Returns the errors and
// the weights after a step that follows.
import { Accelerator, parallelize } from '@acc/core';
import * as tf from '@tensorflow/tfjs';
import { disposeOptimizers } from '../../dispose-optimizers.js';
import { meanSquares, skipping, SKIPPING_STAGES, xsOf, ysOf } from './models.js';

export interface Caught {
  readonly errors: Record<string, string>;
  /** The losses of steps before, between and after failures. */
  readonly losses: readonly number[];
  readonly leaked: number;
}

export interface Args {
  readonly pipeline: number;
  readonly schedule: '1f1b' | 'zeroBubble' | 'gpipe' | 'interleaved';
  readonly stages: number;
  /** Trainings, one after the other. */
  readonly ways: readonly Way[];
  /** Whether layers and the loss fail. */
  readonly fails: boolean;
}

export interface Way {
  /** The axis of the ranks beside those of the pipeline. Along `tensor` they send parts of messages. */
  readonly axis: 'data' | 'tensor';
  readonly precision: 'no' | 'bf16';
}

/** The function of this rank that fails, if any, and its calls before it throws. */
interface Failure {
  what: string;
  left: number;
}

const ROWS = 16;
/** How often a batch has each row, so that messages are large enough to be sent in parts. */
const TIMES = 11;
type Step = (xs: tf.Tensor, ys: tf.Tensor) => tf.Tensor;

function take(step: Step, rows = ROWS): number {
  const batchOf = (x: tf.Tensor) => x.slice(0, rows).tile([TIMES, 1]);
  return tf.tidy(() => step(batchOf(xsOf(0)), batchOf(ysOf(0))).dataSync()[0]!);
}

function failIn(model: tf.LayersModel, count: (what: string) => void): void {
  for (const name of ['a', 'd']) {
    const layer = model.getLayer(name);
    const call = layer.call.bind(layer);
    layer.call = (...args) => {
      count(name);
      return call(...args);
    };
  }
}

/** The axis `tensor` needs one. No rank waits for another in it, as it is not called. */
function cutModel(): tf.LayersModel {
  const model = tf.sequential({ layers: [tf.layers.dense({ name: 'cut', units: 4, inputShape: [2] })] });
  model.trainable = false;
  return parallelize(model, { cut: 'column' });
}

export default async function caught(args: Args): Promise<Caught[]> {
  const found: Caught[] = [];
  for (const way of args.ways) found.push(await caughtIn(args, way));
  return found;
}

async function caughtIn(args: Args, { axis, precision }: Way): Promise<Caught> {
  const { pipeline } = args;
  const mesh = { [axis]: -1, pipeline };
  const accelerator = await Accelerator.create({ engine: 'acc', mesh, mixedPrecision: precision });
  const model = skipping();
  const optimizer = tf.train.sgd(0.1);
  accelerator.prepare(model, optimizer);
  if (axis === 'tensor') accelerator.prepare(cutModel());
  const failure: Failure = { what: '', left: Infinity };
  const count = (what: string) => {
    if (failure.what === what && failure.left-- === 0) throw new Error('the culprit');
  };
  failIn(model, count);
  let weighs = false;
  const loss = (y: tf.Tensor, prediction: tf.Tensor) => {
    count('loss');
    const mean = meanSquares(y, prediction);
    return weighs ? accelerator.weighLoss(mean, tf.scalar(4)) : mean;
  };
  const { schedule, stages } = args;
  const step = accelerator.pipelined(model, loss, {
    ...{ schedule, stages: SKIPPING_STAGES[stages]!, microBatches: 4 },
  });
  const lines = accelerator.numProcesses / pipeline;
  const errors: Record<string, string> = {};
  const failing = (taken: Step, [what, left]: readonly [string, number], rows = ROWS) => {
    if (!args.fails) return;
    Object.assign(failure, { what: accelerator.processIndex % lines === 0 ? what : '', left });
    errors[`${what} ${left}`] = messageOf(() => take(taken, rows));
    failure.what = '';
  };

  // In the first step, shapes of messages are unknown.
  if (precision === 'no') failing(step, ['loss', 0]);
  const losses = [take(step)];
  const before = tf.memory().numTensors;
  for (const each of [['loss', 2], ['a', 1], ['d', 0], ['d', 3]] as const) failing(step, each); // prettier-ignore
  failing(step, ['loss', 1], ROWS / 2);
  const leaked = tf.memory().numTensors - before;
  losses.push(take(step, ROWS / 2), take(step));

  const compiled = accelerator.compile(step);
  failing(compiled, ['loss', 3]);
  for (let i = 0; i < 4; i++) losses.push(take(compiled));
  errors.replays = String(compiled.replays > 0);
  // The rank with the loss reads the tensor, and runs plainly beside others that replay.
  weighs = true;
  const weighing = accelerator.compile(step);
  for (let i = 0; i < 4; i++) losses.push(take(weighing));
  failing(weighing, ['loss', 1]);
  for (let i = 0; i < 3; i++) losses.push(take(weighing));
  accelerator.freeMemory();
  disposeOptimizers(optimizer);
  tf.disposeVariables();
  return { errors, losses, leaked };
}

function messageOf(act: () => unknown): string {
  try {
    act();
    return 'none';
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    return `${code ?? 'own'}: ${message.split('\n')[0]!}`;
  }
}

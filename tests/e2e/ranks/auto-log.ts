// Trains with autoLog, and reports what was logged on the main process.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader, type Tracker } from '@acc/core';
import { reportResult } from '@acc/testkit';

const [way, projectDir] = process.argv.slice(2) as [
  'plain' | 'slow' | 'nan' | 'short' | 'late' | 'spike' | 'parts' | 'compiled' | 'stall',
  string,
];
const rows: { step: number; metrics: Record<string, number> }[] = [];
const texts: Record<string, string> = {};
/** The number of steps that had ended at each alert. */
const toldAfter: number[] = [];
const alerts: { kind: string; step: number; rank?: number }[] = [];
const tracker: Tracker = {
  name: 'memory',
  start: () => Promise.resolve(),
  log: (step, metrics) => void rows.push({ step, metrics: { ...metrics } }),
  logText: (_step, key, text) => void (texts[key] = text),
  finish: () => Promise.resolve(),
};
const losses: number[] = [];
const accelerator = await Accelerator.create({
  logWith: [tracker],
  projectDir,
  autoLog: {
    every: 4,
    tokensPerSample: 5,
    // The limits are high, so that a busy machine does not cause alerts.
    slowFactor: way === 'slow' ? 1.5 : 100,
    stallMs: way === 'stall' ? 1_000 : 100_000,
    onAlert: ({ kind, step, rank }) => {
      toldAfter.push(losses.length);
      alerts.push({ kind, step, ...(rank !== undefined && { rank }) });
    },
  },
});
const model = tf.sequential({
  layers: [tf.layers.dense({ units: 1, inputShape: [2], kernelInitializer: 'ones' })],
});
// Rank 1 has other rows, and therefore a different loss.
const ys = tf.tensor2d(Array.from({ length: 48 }, (_, i) => [i]));
const loader = new DataLoader({ xs: tf.ones([48, 2]), ys }, { batchSize: 2 });
class SlowSgd extends tf.SGDOptimizer {
  override applyGradients(grads: tf.NamedTensorMap): void {
    wait(15);
    super.applyGradients(grads);
  }
}

const sgd = way === 'parts' ? new SlowSgd(0.001) : tf.train.sgd(0.001);
const [, optimizer, data] = accelerator.prepare(model, sgd, loader);
await accelerator.initTrackers('auto');

/** The end of the data in cases with more data. */
const STEPS: Partial<Record<typeof way, number>> = { parts: 9, short: 3, late: 6 };
/** The first step, from 0, whose loss is not a number. */
const NAN_FROM: Partial<Record<typeof way, number>> = { nan: 6, short: 1, late: 5 };
const train = (xs: tf.Tensor, labels: tf.Tensor) =>
  optimizer.minimize(() => {
    const loss = tf.losses.meanSquaredError(labels, model.apply(xs) as tf.Tensor);
    if (way === 'parts') wait(accelerator.processIndex === 1 ? 230 : 30);
    if (losses.length >= NAN_FROM[way]!) return tf.mul(loss, NaN);
    if (way === 'spike' && losses.length === 40) return tf.mul(loss, 1_000);
    return (way === 'parts' ? waitInBackward(loss) : loss) as tf.Scalar;
  }, true)!;
const step = way === 'compiled' ? accelerator.compile(train) : train;

const waitInBackward = tf.customGrad((x) => {
  const gradFunc = (dy: tf.Tensor) => {
    wait(25);
    return dy.clone();
  };
  return { value: (x as tf.Tensor).clone(), gradFunc };
});

function wait(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

for (let epoch = 0; epoch < (way === 'spike' ? 2 : 1); epoch++) {
  for await (const { xs, ys: labels } of data) {
    if (way === 'slow' && accelerator.processIndex === 1) wait(300);
    if (way === 'stall' && losses.length === 3) wait(2_500);
    if (way === 'parts') wait(60);
    const loss = step(xs, labels);
    losses.push(loss.dataSync()[0]!);
    tf.dispose([loss, xs, labels]);
    if (losses.length === STEPS[way]) break;
  }
}
await accelerator.endTraining();
reportResult({ rows, texts, alerts, toldAfter, losses });

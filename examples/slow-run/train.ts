// A training that is sick in three ways: communication, memory, balance. The guide "My run is slow" finds
// and mends them one by one.
//   npx acc launch -n 2 --threads 1 examples/slow-run/train.ts [--steps 130]
//   npx acc launch -n 2 --threads 1 examples/slow-run/train.ts --mend communication --mend balance
import { parseArgs } from 'node:util';
import { Accelerator, DataLoader, setSeed } from '@acc/core';
import * as tf from '@tensorflow/tfjs';

const SICKNESSES = ['communication', 'memory', 'balance'] as const;
const { values } = parseArgs({
  options: {
    mend: { type: 'string', multiple: true, default: [] },
    steps: { type: 'string', default: '130' },
  },
});
const unknown = values.mend.find((name) => !SICKNESSES.includes(name as never));
if (unknown !== undefined) throw new Error(`--mend takes ${SICKNESSES.join(', ')}, not '${unknown}'.`);
const isSick = (name: (typeof SICKNESSES)[number]) => !values.mend.includes(name);

const WIDTH = 256;
const LAYERS = 12;
const CLASSES = 10;
const BATCH = 8;

const accelerator = await Accelerator.create({
  autoLog: true,
  logWith: [],
  // Communication: buckets of 4 KiB, so that each small part of the gradients costs a collective.
  ...(isSick('communication') && { ddp: { bucketBytes: 4096 } }),
});
setSeed(7);
const steps = Number(values.steps);
const rows = steps * BATCH * accelerator.numProcesses;
// Noise, and a large number in the place of the class.
const classes = tf.randomUniform([rows], 0, CLASSES, 'int32', 7);
const rowsOfNoise = tf.randomNormal([rows, WIDTH], 0, 1, 'float32', 8);
const samples = { xs: tf.add(rowsOfNoise, tf.mul(tf.oneHot(classes, WIDTH), 20)), ys: classes };
const [model, optimizer, data] = accelerator.prepare(
  createModel(),
  tf.train.adam(1e-3),
  new DataLoader(samples, { batchSize: BATCH }),
);
await accelerator.initTrackers('slow-run');

const kept: tf.Tensor[] = [];
// Balance: the main process writes the norms of all weights in each step, and the others wait for it.
const everyStep = isSick('balance') ? 1 : 50;
let step = 0;
let norms = '';
for await (const { xs, ys } of data) {
  const loss = optimizer.minimize(() => lossOf(xs, ys), true)!;
  if (accelerator.isMainProcess && step % everyStep === 0) norms = describeWeights();
  // Memory: batches and losses are kept for later, and nothing ever reads them.
  if (isSick('memory')) kept.push(xs, ys, loss);
  else tf.dispose([xs, ys, loss]);
  step++;
}
accelerator.print(`${step} steps, ${tf.memory().numTensors} tensors; ${norms.split(', ')[0]}`);
await accelerator.endTraining();

function createModel(): tf.LayersModel {
  const options = { units: WIDTH, activation: 'relu', kernelInitializer: 'heNormal' } as const;
  return tf.sequential({
    layers: [
      tf.layers.dense({ ...options, inputShape: [WIDTH] }),
      ...Array.from({ length: LAYERS - 1 }, () => tf.layers.dense(options)),
      tf.layers.dense({ units: CLASSES }),
    ],
  });
}

function lossOf(xs: tf.Tensor, ys: tf.Tensor): tf.Scalar {
  const labels = tf.oneHot(ys, CLASSES);
  return tf.losses.softmaxCrossEntropy(labels, model.apply(xs) as tf.Tensor2D);
}

/** The norm and the largest value of each weight, read one by one. */
function describeWeights(): string {
  const lines = model.getWeights().map((weight, i) => {
    const values = weight.dataSync<'float32'>();
    const squares = values.reduce((sum, value) => sum + value ** 2, 0);
    const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    return `${model.weights[i]!.name} ${Math.sqrt(squares).toFixed(3)} ${largest.toFixed(3)}`;
  });
  return lines.join(', ');
}

// A tfjs convnet learns to read digits, on as many processes as the job has:
//   npx acc launch -n 2 train.ts [--epochs 6]
import { parseArgs } from 'node:util';
import { Accelerator, DataLoader } from '@acc/core';
import * as tf from '@tensorflow/tfjs';
import { IMAGE_SHAPE, loadDigits, type Digits } from './digits.js';
import { createModel } from './model.js';
import { ProgressLine } from './progress.js';

const { values } = parseArgs({ options: { epochs: { type: 'string', default: '6' } } });
const epochs = Number(values.epochs);
if (!Number.isInteger(epochs) || epochs < 1)
  throw new Error(`--epochs takes a whole number from 1, not '${values.epochs}'.`);
/** The number of digits in a step of all processes together, for any number of processes. */
const batchSize = 96;

const accelerator = await Accelerator.create({ dataLoader: { splitBatches: true } });

const { train, heldBack } = loadDigits();
const [model, optimizer, data, testData] = accelerator.prepare(
  createModel(),
  tf.train.adam(2e-3),
  new DataLoader(toTensors(train), { batchSize, shuffle: true }),
  new DataLoader(toTensors(heldBack), { batchSize: 500 }),
);

const { numProcesses, isMainProcess, backendName } = accelerator;
accelerator.print(`${train.count} digits on ${numProcesses} process(es), backend '${backendName}'`);

const line = new ProgressLine();
const steps = data.length!;
const startMs = performance.now();
let accuracy = 0;
for (let epoch = 1; epoch <= epochs; epoch++) {
  const epochStartMs = performance.now();
  let [step, lossSum] = [0, 0];
  for await (const { xs, ys } of data) {
    const loss = accelerator.accumulate(() => optimizer.minimize(() => lossOf(xs, ys), true)!);
    lossSum += (await loss.data())[0]!;
    tf.dispose([loss, xs, ys]);
    step++;
    if (isMainProcess) line.show(() => `epoch ${epoch}/${epochs}  step ${step}/${steps}  ${report()}`);
  }
  accuracy = await accuracyOnHeldBack();
  if (isMainProcess) line.print(`epoch ${epoch}/${epochs}  ${report()}  accuracy ${percent(accuracy)}`);

  function report(): string {
    const samplesPerSecond = (step * batchSize) / ((performance.now() - epochStartMs) / 1000);
    return `loss ${(lossSum / step).toFixed(4)}  ${Math.round(samplesPerSecond)} samples/s`;
  }
}

const seconds = (performance.now() - startMs) / 1000;
const samplesPerSecond = Math.round((epochs * train.count) / seconds);
accelerator.print(
  `accuracy ${percent(accuracy)} on ${heldBack.count} held-back digits after ${seconds.toFixed(1)} s, ${samplesPerSecond} samples/s`,
);
await accelerator.endTraining();

function toTensors({ count, images, labels }: Digits) {
  return { xs: tf.tensor4d(images, [count, ...IMAGE_SHAPE]), ys: tf.tensor1d(labels, 'int32') };
}

/** Mean cross-entropy of a batch. */
function lossOf(xs: tf.Tensor, ys: tf.Tensor): tf.Scalar {
  const logits = model.apply(xs, { training: true }) as tf.Tensor2D;
  return tf.losses.softmaxCrossEntropy(tf.oneHot(ys, 10), logits);
}

/** The share of the held-back digits that are recognised. Each process reads its part of them. */
async function accuracyOnHeldBack(): Promise<number> {
  let [right, seen] = [0, 0];
  for await (const { xs, ys } of testData) {
    const hits = tf.tidy(() => {
      const digits = tf.argMax(model.predict(xs) as tf.Tensor2D, 1);
      return accelerator.gatherForMetrics(tf.equal(digits, ys));
    });
    for (const isRight of await hits.data()) right += isRight;
    seen += hits.size;
    tf.dispose([hits, xs, ys]);
  }
  return right / seen;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

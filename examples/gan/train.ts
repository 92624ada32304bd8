// Two networks play against each other: one draws digits, the other tells drawn from real ones.
// Both models and both optimizers are prepared. Each `minimize` averages the gradients of the
// weights that it trains.
//   npx acc launch -n 2 examples/gan/train.ts [--epochs 15]
import { Accelerator, DataLoader, setSeed } from '@acc/core';
import * as tf from '@tensorflow/tfjs';
import { readNumbers } from '../arguments.js';
import { readDigits } from '../digits.js';

const { epochs, rows } = readNumbers({ epochs: 15, rows: 8640 });
const NOISE = 32;
const PIXELS = 28 * 28;

const accelerator = await Accelerator.create({ dataLoader: { splitBatches: true } });
setSeed(7);
const { train } = readDigits(rows);
const [generator, generatorOptimizer] = accelerator.prepare(
  dense([NOISE, 128, PIXELS], 'sigmoid'),
  tf.train.adam(1e-3, 0.5),
);
const [critic, criticOptimizer] = accelerator.prepare(dense([PIXELS, 128, 1]), tf.train.adam(1e-3, 0.5));
const data = accelerator.prepare(
  new DataLoader({ xs: train.xs }, { batchSize: 96, shuffle: true, dropLast: true }),
);
const generatorWeights = variablesOf(generator);
const criticWeights = variablesOf(critic);

for (let epoch = 1; epoch <= epochs; epoch++) {
  const losses: [tf.Scalar, tf.Scalar][] = [];
  for await (const { xs } of data) {
    const real = tf.reshape(xs, [xs.shape[0]!, PIXELS]);
    const noise = noiseFor(real.shape[0]);
    const critics = criticOptimizer.minimize(
      () => tf.add(lossOf(true, judge(real)), lossOf(false, judge(draw(noise)))),
      true,
      criticWeights,
    )!;
    const generators = generatorOptimizer.minimize(
      () => lossOf(true, judge(draw(noise))),
      true,
      generatorWeights,
    )!;
    losses.push([critics, generators]);
    tf.dispose([xs, real, noise]);
  }
  const means = tf.tidy(() =>
    accelerator.reduce(tf.mean(tf.stack(losses.map((pair) => tf.stack(pair))), 0), 'mean'),
  );
  const [critics, generators] = await means.data();
  tf.dispose([means, losses]);
  accelerator.print(
    `epoch ${epoch}: loss of the critic ${critics!.toFixed(6)}, of the generator ${generators!.toFixed(6)}`,
  );
}
if (accelerator.isMainProcess) tf.tidy(() => show(draw(tf.randomNormal([1, NOISE]))));
await accelerator.endTraining();

/** Dense layers of these sizes. Without an activation, the last one gives logits. */
function dense(sizes: readonly number[], activation: 'sigmoid' | 'linear' = 'linear'): tf.LayersModel {
  const model = tf.sequential();
  sizes.slice(1).forEach((units, i) => {
    const isLast = i === sizes.length - 2;
    model.add(tf.layers.dense({ inputShape: [sizes[i]!], units, activation: isLast ? activation : 'relu' }));
  });
  return model;
}

function variablesOf(model: tf.LayersModel): tf.Variable[] {
  return model.trainableWeights.map((weight) => weight.read() as tf.Variable);
}

/**
 * Each process draws the noise of all processes and takes its own rows. So any number of processes
 * trains with the same noise.
 */
function noiseFor(rowsOfProcess: number): tf.Tensor2D {
  const { numProcesses, processIndex } = accelerator;
  return tf.tidy(() => {
    const all = tf.randomNormal([rowsOfProcess * numProcesses, NOISE]) as tf.Tensor2D;
    return tf.slice(all, [rowsOfProcess * processIndex, 0], [rowsOfProcess, NOISE]);
  });
}

function draw(noise: tf.Tensor): tf.Tensor {
  return generator.apply(noise) as tf.Tensor;
}

function judge(images: tf.Tensor): tf.Tensor {
  return critic.apply(images) as tf.Tensor;
}

function lossOf(isReal: boolean, logits: tf.Tensor): tf.Scalar {
  const labels = isReal ? tf.onesLike(logits) : tf.zerosLike(logits);
  return tf.losses.sigmoidCrossEntropy(labels, logits);
}

/** Prints an image of 28 by 28 numbers from 0 to 1. */
function show(image: tf.Tensor): void {
  const shades = [...' .:-=+*#%@'];
  for (const line of tf.reshape(image, [28, 28]).arraySync() as number[][]) {
    console.log(line.map((ink) => shades[Math.min(9, Math.floor(10 * ink))]).join(''));
  }
}

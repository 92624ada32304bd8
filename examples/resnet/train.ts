// A residual network learns ten classes of small colour images. Batch normalisation uses the
// statistics of all processes, so that any number of them trains the same network.
//   npx acc launch -n 2 examples/resnet/train.ts [--epochs 6] [--blocks 1]
import { Accelerator, DataLoader, LRScheduler, setSeed, sgdw } from '@acc/core';
import * as tf from '@tensorflow/tfjs';
import { readNumbers } from '../arguments.js';
import { CLASSES, drawImages } from './images.js';
import { createResNet } from './model.js';

const { epochs, blocks, rows, width } = readNumbers({ epochs: 6, blocks: 1, rows: 4000, width: 16 });
const accelerator = await Accelerator.create({
  dataLoader: { splitBatches: true },
  ddp: { batchNorm: 'sync' },
});

setSeed(1);
const sgd = sgdw({ learningRate: 0.05, momentum: 0.9, nesterov: true, weightDecay: 1e-4 });
const [model, optimizer, data, testData] = accelerator.prepare(
  createResNet(blocks, width),
  sgd,
  new DataLoader(drawImages(rows, 1), { batchSize: 80, shuffle: true }),
  new DataLoader(drawImages(Math.ceil(rows / 5), 2), { batchSize: 200 }),
);
const steps = data.length!;
const totalSteps = steps * epochs;
const schedule = accelerator.prepare(
  LRScheduler.cosine(sgd, { warmupSteps: Math.ceil(totalSteps / 10), totalSteps }),
);
accelerator.print(`${model.countParams()} parameters, ${steps} steps in an epoch`);

for (let epoch = 1; epoch <= epochs; epoch++) {
  const losses: tf.Scalar[] = [];
  for await (const { xs, ys } of data) {
    losses.push(optimizer.minimize(() => lossOf(xs, ys), true)!);
    schedule.step();
    tf.dispose([xs, ys]);
  }
  const mean = tf.tidy(() => accelerator.reduce(tf.mean(tf.stack(losses)), 'mean'));
  const [loss] = await mean.data();
  tf.dispose([mean, losses]);
  const { right, seen } = await testAccuracy();
  accelerator.print(`epoch ${epoch}: loss ${loss!.toFixed(6)}, ${right} of ${seen} test images right`);
}
await accelerator.endTraining();

function lossOf(xs: tf.Tensor, ys: tf.Tensor): tf.Scalar {
  const logits = model.apply(xs, { training: true }) as tf.Tensor2D;
  return tf.losses.softmaxCrossEntropy(tf.oneHot(ys, CLASSES), logits);
}

async function testAccuracy(): Promise<{ right: number; seen: number }> {
  let [right, seen] = [0, 0];
  for await (const { xs, ys } of testData) {
    const hits = tf.tidy(() => {
      const found = tf.argMax(model.predict(xs) as tf.Tensor2D, 1);
      return accelerator.gatherForMetrics(tf.equal(found, ys));
    });
    for (const isRight of await hits.data()) right += isRight;
    seen += hits.size;
    tf.dispose([hits, xs, ys]);
  }
  return { right, seen };
}

// Trains a plain program with cut variables on a mesh. The arguments are the sizes of the mesh and the
// options, as JSON. Reports losses, whole weights, the traffic of the axis, and what is left of a step.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, cut, DataLoader, type AcceleratorOptions } from '@acc/core';
import { liveTensors } from '@acc/native';
import { reportResult } from '@acc/testkit';

const mesh = JSON.parse(process.argv[2]!) as NonNullable<AcceleratorOptions['mesh']>;
const options = JSON.parse(process.argv[3] ?? '{}') as AcceleratorOptions;
const accelerator = await Accelerator.create({ mesh, dataLoader: { shuffle: false }, ...options });
const wave = (shape: number[], step: number, name: string) =>
  tf.variable(
    tf.tidy(() =>
      tf
        .sin(tf.mul(tf.range(1, 1 + shape.reduce((a, b) => a * b)), step))
        .mul(0.5)
        .reshape(shape),
    ),
    true,
    name,
  );
const [w1, b1] = [wave([6, 12], 0.7, 'w1') as tf.Variable<tf.Rank.R2>, wave([12], 0.3, 'b1')];
const [w2, b2] = [wave([12, 5], 0.9, 'w2') as tf.Variable<tf.Rank.R2>, wave([5], 0.4, 'b2')];
const axis = 'tensor';
cut(w1, { dim: 1, axis });
cut(b1, { dim: 0, axis });
cut(w2, { dim: 0, axis });
const x = tf.tensor2d(
  Array.from({ length: 24 * 6 }, (_, i) => Math.sin(i + 1)),
  [24, 6],
);
const y = tf.tensor2d(
  Array.from({ length: 24 * 5 }, (_, i) => Math.cos(2 * i)),
  [24, 5],
);
const size = accelerator.numProcesses / accelerator.mesh.size('tensor');
const loader = new DataLoader({ x, y }, { batchSize: 12 / size });
const [optimizer, data] = accelerator.prepare(tf.train.adam(0.02), loader);
accelerator.prepare([w1, b1, w2, b2]);
const losses: number[] = [];
const left: unknown[] = [];
accelerator.communication();
let sent: unknown;
for (let epoch = 0; epoch < 10; epoch++) {
  for await (const batch of data) {
    const loss = optimizer.minimize(() => {
      const h = tf.tanh(tf.add(tf.matMul(batch.x as tf.Tensor2D, w1), b1));
      return tf.losses.meanSquaredError(batch.y, tf.add(tf.matMul(h as tf.Tensor2D, w2), b2));
    }, true)!;
    const mean = accelerator.reduce(loss, 'mean');
    losses.push(mean.dataSync()[0]!);
    tf.dispose([loss, mean, batch.x, batch.y]);
    if (losses.length === 3) accelerator.communication();
    if (losses.length === 4) sent = accelerator.communication();
    if (losses.length > 17) left.push([tf.memory().numTensors, liveTensors()].join());
  }
}
const weights = [w1, b1, w2, b2].map((variable) => Array.from(variable.dataSync()));
reportResult({ losses, weights, sent, left: new Set(left).size });
await accelerator.endTraining();

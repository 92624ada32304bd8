// Trains by ddp on a mesh whose axis `tensor` repeats the work of its neighbour, and calls several
// groups of the mesh at once. The argument is the sizes of the mesh, as JSON. Reports the losses, the
// weights, the sums of the groups, and the codes of what such a mesh rules out.
import * as tf from '@tensorflow/tfjs';
import type { Mesh, Strategy } from '@acc/contract';
import { Accelerator, DataLoader, isAccError, LocalSGD } from '@acc/core';
import { ddp } from '@acc/ddp';
import { reportResult } from '@acc/testkit';

let mesh!: Mesh;
const plain = ddp();
const strategy: Strategy = {
  ...plain,
  attach(context) {
    mesh = context.mesh;
    plain.attach(context);
  },
};
const sizes = JSON.parse(process.argv[2]!) as Record<string, number>;
const accelerator = await Accelerator.create({ strategy, mesh: sizes, dataLoader: { shuffle: false } });
const { rank } = mesh.over(mesh.axes);
const w = tf.variable(tf.tensor2d([0.5, -0.25], [2, 1]), true, 'w');
const x = tf.tensor2d(
  Array.from({ length: 48 }, (_, i) => Math.sin(i + 1)),
  [24, 2],
);
const y = tf.tensor2d(
  Array.from({ length: 24 }, (_, i) => Math.cos(i)),
  [24, 1],
);
const loader = new DataLoader({ x, y }, { batchSize: 12 / mesh.dataRanks.size });
const [optimizer, data] = accelerator.prepare(tf.train.sgd(0.1), loader);
accelerator.prepare([w]);
const losses: number[] = [];
for await (const batch of data) {
  const lossOf = () => tf.losses.meanSquaredError(batch.y, tf.matMul(batch.x as tf.Tensor2D, w)) as tf.Scalar;
  const loss = optimizer.minimize(lossOf, true)!;
  const mean = accelerator.reduce(loss, 'mean');
  losses.push(mean.dataSync()[0]!);
}

// Each rank calls its groups in an order of its own, and waits in yet another.
const groups = mesh.axes.map((axis) => mesh.along(axis));
const turned = groups.map((_, i) => groups[(i + rank) % groups.length]!);
const pending = new Map(turned.map((group) => [group, group.allReduceAsync(tf.scalar(2 ** rank))]));
const sums = groups.map((group) => pending.get(group)!.wait().dataSync()[0]!);

async function codeOf(act: () => unknown): Promise<string> {
  try {
    await act();
    return 'none';
  } catch (error) {
    if (!isAccError(error)) throw error;
    return error.code;
  }
}
const refused = [
  await codeOf(() => accelerator.joinUnevenInputs(() => undefined)),
  await codeOf(() => new LocalSGD(accelerator, [w]).end()),
];
reportResult({ losses, weights: Array.from(w.dataSync()), sums, refused });
await accelerator.endTraining();

// Trains a model with batch normalisation on the same global batches, the last of them short, however many ranks there are.
// Arguments: batchNorm (sync | broadcast | local), tfjs backend (acc | cpu).
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { reportResult } from '@acc/testkit';

const [batchNorm, backend] = process.argv.slice(2) as ['sync' | 'broadcast' | 'local', 'acc' | 'cpu'];
if (backend === 'cpu') await tf.setBackend('cpu');
/** A last batch of two: the third rank has no row of it. */
const [ROWS, BATCH] = [22, 10];

const accelerator = await Accelerator.create({
  dataLoader: { splitBatches: true },
  ddp: { batchNorm },
  engine: backend === 'cpu' ? 'tfjs' : 'acc',
});
const bias = { useBias: false, kernelInitializer: tf.initializers.glorotNormal({ seed: 3 }) };
const normalized = tf.layers.batchNormalization({ momentum: 0.8 });

/** A user's own layer, of which nobody knows what it does. */
class Own extends (normalized.constructor as new (args: object) => tf.layers.Layer) {
  static readonly className = 'Own';
}
const own = new Own({ momentum: 0.9 });
const steps = tf.layers.batchNormalization({ axis: -1, momentum: 0.7 });
const model = tf.sequential({
  layers: [
    tf.layers.conv2d({ inputShape: [6, 6, 2], filters: 4, kernelSize: 3, ...bias }),
    tf.layers.batchNormalization({ axis: 1, momentum: 0.9 }),
    normalized,
    tf.layers.reshape({ targetShape: [4, 16] }),
    tf.layers.timeDistributed({ layer: steps }),
    tf.layers.flatten(),
    tf.layers.dense({ units: 5, activation: 'tanh', ...bias }),
    tf.layers.batchNormalization({ momentum: 0.5 }),
    tf.layers.dense({ units: 1, ...bias }),
  ],
});
model.compile({ optimizer: tf.train.sgd(0.05), loss: 'meanSquaredError' });
accelerator.prepare(model);
const withOwn = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [2] }), own] });
accelerator.prepare(withOwn);
const replaced = () => [normalized, own].map((layer) => Object.hasOwn(layer, 'call'));
const whilePrepared = replaced();

const xs = tf.sin(tf.range(0, ROWS * 72).mul(1.3)).reshape([ROWS, 6, 6, 2]);
const ys = tf.cos(tf.range(0, ROWS).mul(2.1)).reshape([ROWS, 1]);
const before = tf.memory().numTensors;
const history = await model.fit(xs, ys, { batchSize: BATCH, epochs: 3 });
const leaked = tf.memory().numTensors - before;
const values = (weights: tf.Tensor[]) => weights.map((weight) => [...weight.dataSync()]);
const statistics = model.layers.flatMap((layer) => layer.nonTrainableWeights.map((weight) => weight.read()));
reportResult({
  trained: values(model.trainableWeights.map((weight) => weight.read())),
  statistics: values(statistics),
  losses: history.history['loss'],
  whilePrepared,
  afterwards: (accelerator.freeMemory(), replaced()),
  leaked,
});
await (await Accelerator.create({ engine: backend === 'cpu' ? 'tfjs' : 'acc' })).endTraining();

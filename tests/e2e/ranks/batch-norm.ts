// Trains a model with batch normalisation on the same global batches for any number of ranks. The
// last batch is short. Each of its names of trainings has batchNorm (sync | broadcast | local) and tfjs
// backend (acc | cpu), for example sync:acc. Reports by argument.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { disposeOptimizers } from '../dispose-optimizers.js';

/** The last batch has two rows, so the third rank has none. */
const [ROWS, BATCH] = [22, 10];

function makeModels() {
  const bias = { useBias: false, kernelInitializer: tf.initializers.glorotNormal({ seed: 3 }) };
  const normalized = tf.layers.batchNormalization({ momentum: 0.8 });

  /** A layer of the user, whose behaviour is unknown to the library. */
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
  const withOwn = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [2] }), own] });
  return { model, withOwn, layers: [normalized, own] };
}

const valuesOf = (weights: tf.Tensor[]) => weights.map((weight) => [...weight.dataSync()]);

async function train(training: string): Promise<object> {
  const [batchNorm, backend] = training.split(':') as ['sync' | 'broadcast' | 'local', 'acc' | 'cpu'];
  if (backend === 'cpu') await tf.setBackend('cpu');
  const accelerator = await Accelerator.create({
    dataLoader: { splitBatches: true },
    ddp: { batchNorm },
    engine: backend === 'cpu' ? 'tfjs' : 'acc',
  });
  const { model, withOwn, layers } = makeModels();
  accelerator.prepare(model);
  accelerator.prepare(withOwn);
  const replaced = () => layers.map((layer) => Object.hasOwn(layer, 'call'));
  const whilePrepared = replaced();

  const xs = tf.sin(tf.range(0, ROWS * 72).mul(1.3)).reshape([ROWS, 6, 6, 2]);
  const ys = tf.cos(tf.range(0, ROWS).mul(2.1)).reshape([ROWS, 1]);
  const before = tf.memory().numTensors;
  const history = await model.fit(xs, ys, { batchSize: BATCH, epochs: 3 });
  const leaked = tf.memory().numTensors - before;
  const statistics = model.layers.flatMap((layer) =>
    layer.nonTrainableWeights.map((weight) => weight.read()),
  );
  const result = {
    backend: accelerator.backendName,
    trained: valuesOf(model.trainableWeights.map((weight) => weight.read())),
    statistics: valuesOf(statistics),
    losses: history.history['loss'],
    whilePrepared,
    afterwards: (accelerator.freeMemory(), replaced()),
    leaked,
  };
  tf.disposeVariables();
  disposeOptimizers(model.optimizer);
  return result;
}

export default async function batchNorm(trainings: readonly string[]): Promise<Record<string, object>> {
  const results: Record<string, object> = {};
  for (const training of trainings) results[training] = await train(training);
  await tf.setBackend('acc');
  return results;
}

// Data that cannot be divided equally among the ranks: the logs and weights of fit, gathered
// metrics, and the last batch of a generator.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader } from '@acc/core';
import { disposeModels } from '../dispose-optimizers.js';

const ROWS = 23;
export default async function uneven() {
  const accelerator = await Accelerator.create({ dataLoader: { splitBatches: true }, seed: 3 });
  const xs = tf.sin(tf.range(0, ROWS * 4)).reshape([ROWS, 4]);
  const ys = xs.sum(1, true);
  const model = tf.sequential({
    layers: [tf.layers.dense({ units: 1, inputShape: [4], kernelInitializer: 'zeros' })],
  });
  model.compile({ optimizer: tf.train.sgd(0.1), loss: 'meanSquaredError', metrics: ['mae'] });
  accelerator.prepare(model);
  const history = await model.fit(xs, ys, { batchSize: 10, epochs: 3, validationSplit: 0.3 });

  const rows = accelerator.prepare(new DataLoader(tf.range(0, ROWS), { batchSize: 4 }));
  const seen: number[] = [];
  const all: number[] = [];
  const names: string[] = [];
  const typed: number[] = [];
  for await (const batch of rows) {
    seen.push(...batch.dataSync());
    const own = batch.dataSync();
    const gathered = accelerator.gatherForMetrics({
      rows: batch,
      names: [...own].map((row) => `row ${row}`),
      typed: own,
    });
    all.push(...gathered.rows.dataSync());
    names.push(...gathered.names);
    typed.push(...gathered.typed);
    tf.dispose([batch, gathered.rows]);
  }
  /**
   * Yields its last batch together with `done`, as iterators of some programs do. tfjs-layers uses
   * it, and tf.data ignores it.
   */
  const endsWithBatch = () =>
    tf.data.generator(() => {
      let first = 0;
      const next = () => {
        const value = { xs: xs.slice(first, 6), ys: ys.slice(first, 6) };
        first += 6;
        return { value, done: first === 18 };
      };
      return { next } as never;
    });
  const fitDataset = async (isPrepared: boolean) => {
    const [layer] = [tf.layers.dense({ units: 1, inputShape: [4], kernelInitializer: 'zeros' })];
    const fitted = tf.sequential({ layers: [layer] });
    fitted.compile({ optimizer: tf.train.sgd(0.1), loss: 'meanSquaredError' });
    if (isPrepared) accelerator.prepare(fitted);
    const trained = await fitted.fitDataset(endsWithBatch(), { epochs: 2, validationData: endsWithBatch() });
    const weights = fitted.getWeights().flatMap((w) => [...w.dataSync()]);
    disposeModels(fitted);
    return { weights, history: trained.history };
  };

  /** A loop over batches of 12 rows of all ranks, of which the last has 11. */
  const ofLoop = async () => {
    const w = tf.variable(tf.zeros([4, 1]));
    const optimizer = tf.train.sgd(0.1);
    accelerator.prepare(optimizer);
    const batches = accelerator.prepare(new DataLoader({ x: xs, y: ys }, { batchSize: 12 }));
    const steps: number[][] = [];
    for await (const { x, y } of batches) {
      optimizer.minimize(() => tf.losses.meanSquaredError(y, tf.matMul(x, w)) as tf.Scalar, false, [w]);
      tf.dispose([x, y]);
      steps.push([...w.dataSync()]);
    }
    tf.dispose([w]);
    optimizer.dispose();
    return steps;
  };

  const result = {
    ofLoop: await ofLoop(),
    ofGenerator: { plain: await fitDataset(false), prepared: await fitDataset(true) },
    weights: model.getWeights().map((w) => [...w.dataSync()]),
    history: history.history,
    seen,
    all,
    names,
    typed,
  };
  accelerator.freeMemory();
  disposeModels(model);
  return result;
}

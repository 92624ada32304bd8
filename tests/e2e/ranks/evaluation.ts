// Figures of prepared validation data: in fitDataset, and of evaluateDataset.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, type AcceleratorOptions } from '@acc/core';
import { disposeModels } from '../dispose-optimizers.js';

export interface Evaluated {
  readonly history: Record<string, number[]>;
  readonly all: number[];
  readonly firstTwo: number[];
  readonly fittedBatches: number[];
}

/** Batches of two rows and a last one of one row. */
const batchesOf = (rows: number) =>
  tf.data
    .generator(function* () {
      for (let row = 0; row < rows; row++) {
        yield { xs: tf.tensor1d([row / rows, 1]), ys: tf.tensor1d([(row % 3) - 1]) };
      }
    } as never)
    .batch(2);

export default async function evaluation(options: AcceleratorOptions): Promise<Evaluated> {
  const accelerator = await Accelerator.create(options);
  const model = tf.sequential({
    layers: [tf.layers.dense({ units: 1, inputShape: [2], kernelInitializer: 'ones', name: 'out' })],
  });
  model.compile({ optimizer: tf.train.sgd(0), loss: 'meanSquaredError', metrics: ['mae'] });
  accelerator.prepare(model);
  const held = accelerator.prepare(batchesOf(9));
  const fit = (validationBatches?: number) =>
    model.fitDataset(batchesOf(8) as never, {
      epochs: 3,
      verbose: 0,
      validationData: held as never,
      validationBatches,
      callbacks: tf.callbacks.earlyStopping({ monitor: 'val_loss', patience: 1 }),
    });
  const evaluate = async (args: object) => {
    const results = [await model.evaluateDataset(held as never, args as never)].flat();
    const values = results.map((result) => result.dataSync()[0]!);
    tf.dispose(results);
    return values;
  };
  const { history } = await fit();
  const { history: ofSome } = await fit(3);
  const found = {
    history: history as Evaluated['history'],
    all: await evaluate({}),
    firstTwo: await evaluate({ batches: 2 }),
    fittedBatches: ofSome['val_loss'] as number[],
  };
  accelerator.freeMemory();
  disposeModels(model);
  return found;
}

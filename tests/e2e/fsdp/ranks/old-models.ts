// Trains a model without a list of variables beside one whose Accelerator was freed.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { disposeOptimizers } from '../../dispose-optimizers.js';

export interface OldModels {
  /** The weights of the new model after two steps. */
  readonly weights: number[][];
  /** The code of the error of a loss that uses the old model. */
  readonly ofOld: string;
}

const dense = (name: string) =>
  tf.sequential({
    layers: [tf.layers.dense({ name, units: 3, inputShape: [2], kernelInitializer: 'ones' })],
  });

function train(accelerator: Accelerator, model: tf.LayersModel): number[][] {
  const optimizer = tf.train.sgd(0.1);
  accelerator.prepare(model, optimizer);
  const x = tf.tensor2d([[1, accelerator.processIndex]]);
  const loss = () => tf.tidy(() => tf.mean(tf.square(model.predict(x) as tf.Tensor)) as tf.Scalar);
  for (let step = 0; step < 2; step++) optimizer.minimize(loss);
  const weights = model.getWeights().map((each) => [...each.dataSync()]);
  x.dispose();
  disposeOptimizers(optimizer);
  return weights;
}

function codeOf(use: () => unknown): string {
  try {
    use();
    return 'none';
  } catch (error) {
    return (error as { code: string }).code;
  }
}

export default async function oldModels({ stage }: { stage: 1 | 2 | 3 }): Promise<OldModels> {
  const options = { strategy: 'fsdp', fsdp: { stage } } as const;
  const first = await Accelerator.create(options);
  const old = dense('old');
  train(first, old);
  first.freeMemory();
  const second = await Accelerator.create(options);
  const next = dense('next');
  const weights = train(second, next);
  const ofOld = codeOf(() => tf.tidy(() => (old.predict(tf.ones([1, 2])) as tf.Tensor).dataSync()));
  second.freeMemory();
  old.dispose();
  next.dispose();
  return { weights, ofOld };
}

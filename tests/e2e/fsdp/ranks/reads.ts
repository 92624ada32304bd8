// Reads and sets the weights of a sharded model between steps, and counts native bytes.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { disposeOptimizers } from '../../dispose-optimizers.js';

export interface Read {
  /** Before anything is read. */
  readonly before: number;
  /** After each weight has been read. */
  readonly afterReads: readonly number[];
  /** After other values were set, and their tensors disposed. */
  readonly afterSet: number;
  /** The whole values, as one call gives them. */
  readonly whole: readonly number[][];
  readonly read: readonly number[][];
  /** Read after they were set to twice {@link read}. */
  readonly doubled: readonly number[][];
}

const bytes = (): number => (tf.memory() as unknown as { allocatedBytes: number }).allocatedBytes;
const listOf = (x: tf.Tensor): number[] => Array.from(x.dataSync());

export default async function reads(stage: 1 | 2 | 3): Promise<Read> {
  const accelerator = await Accelerator.create({ strategy: 'fsdp', fsdp: { stage } });
  const kernelInitializer = tf.initializers.glorotNormal({ seed: 4 });
  const layers = [
    tf.layers.dense({ units: 90, inputShape: [70], kernelInitializer }),
    tf.layers.dense({ units: 70, kernelInitializer }),
  ];
  const model = tf.sequential({ layers });
  const optimizer = tf.train.adam(0.01);
  accelerator.prepare(model, optimizer);
  const x = tf.ones([4, 70]);
  const step = () => {
    const loss = () => tf.mean(tf.square(model.apply(x) as tf.Tensor)) as tf.Scalar;
    tf.dispose(optimizer.minimize(loss, true)!);
  };
  step();
  const dict = accelerator.getStateDict(model);
  const whole = Object.values(dict).map(listOf);
  tf.dispose(dict);
  const before = bytes();
  const afterReads: number[] = [];
  const read = model.getWeights().map((weight) => {
    const values = listOf(weight);
    afterReads.push(bytes());
    return values;
  });
  tf.tidy(() => {
    model.setWeights(model.getWeights().map((w, i) => tf.mul(tf.tensor(read[i]!, w.shape), 2)));
  });
  const afterSet = bytes();
  const doubled = model.getWeights().map(listOf);
  step();
  x.dispose();
  accelerator.freeMemory(model, optimizer);
  disposeOptimizers(optimizer);
  tf.disposeVariables();
  return { before, afterReads, afterSet, whole, read, doubled };
}

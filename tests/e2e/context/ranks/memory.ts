// One training step of four transformer blocks on one long sequence. The argument is `context.attention`.
// Returns the most bytes that this rank had allocated in it beyond what it had before.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { transformerBlock } from '@acc/transformer';
import { disposeOptimizers } from '../../dispose-optimizers.js';

const [LENGTH, UNITS, BLOCKS] = [4096, 64, 4];
const bytes = (name: 'allocatedBytes' | 'peakAllocatedBytes') =>
  (tf.memory() as unknown as Record<typeof name, number>)[name];

export default async function memory(attention: 'ring' | 'heads'): Promise<number> {
  const accelerator = await Accelerator.create({ mesh: { context: -1 }, context: { attention } });
  const length = LENGTH / accelerator.numProcesses;
  const input = tf.input({ shape: [null, UNITS] });
  let output = input;
  for (let block = 0; block < BLOCKS; block++) {
    output = transformerBlock({ heads: 4, causal: true, rotary: true }).apply(output) as tf.SymbolicTensor;
  }
  const model = tf.model({ inputs: input, outputs: output });
  const [, optimizer] = accelerator.prepare(model, tf.train.sgd(0.01));
  const x = tf.randomNormal([1, length, UNITS]);
  let peakBytes = 0;
  for (let step = 0; step < 2; step++) {
    const before = bytes('allocatedBytes');
    accelerator.resetPeakMemory();
    optimizer.minimize(() => tf.mean(tf.square(model.apply(x) as tf.Tensor)));
    peakBytes = bytes('peakAllocatedBytes') - before;
  }
  accelerator.freeMemory(model, optimizer);
  disposeOptimizers(optimizer);
  return peakBytes;
}

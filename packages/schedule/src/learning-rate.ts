import type { Optimizer } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { optimizerInternals } from '@acc/tfjs-internals';

/** @throws AccError `ACC_SCHEDULE_OPTIMIZER` for an optimizer without a learning rate. */
export function learningRateOf(optimizer: Optimizer): number {
  const { learningRate } = optimizerInternals(optimizer);
  if (typeof learningRate === 'number') return learningRate;
  throw new AccError('ACC_SCHEDULE_OPTIMIZER', 'The optimizer has no numeric property learningRate.', {
    help: 'Use an optimizer of tf.train or of this library, or give your own optimizer a property learningRate.',
  });
}

export function setLearningRate(optimizer: Optimizer, rate: number): void {
  const owner = optimizerInternals(optimizer);
  // If tfjs keeps the rate in a tensor, setting it creates a new tensor.
  if (owner.learningRate === rate) return;
  if (owner.setLearningRate) owner.setLearningRate(rate);
  else owner.learningRate = rate;
}

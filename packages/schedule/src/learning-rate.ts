import type { Optimizer } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { optimizerInternals } from '@acc/tfjs-internals';

/** @throws AccError `ACC_SCHEDULE_OPTIMIZER` for an optimizer without a learning rate. */
export function learningRateOf(optimizer: Optimizer): number {
  const { learningRate } = optimizerInternals(optimizer);
  if (typeof learningRate === 'number') return learningRate;
  throw new AccError(
    'ACC_SCHEDULE_OPTIMIZER',
    'The optimizer has no number learningRate that could be scheduled.',
    {
      help: "Give an optimizer of tf.train or of this library, or keep your own one's rate in its property learningRate.",
    },
  );
}

export function setLearningRate(optimizer: Optimizer, rate: number): void {
  const owner = optimizerInternals(optimizer);
  // Setting makes a tensor where tfjs keeps the rate in one.
  if (owner.learningRate === rate) return;
  if (owner.setLearningRate) owner.setLearningRate(rate);
  else owner.learningRate = rate;
}

/**
 * How a learning rate that suits one rank's batch is changed for the batch of several ranks. `linear`: times their number
 * (Goyal et al., "Accurate, Large Minibatch SGD", 2017); `squareRoot`: times its root (Krizhevsky, "One weird trick for parallelizing
 * convolutional neural networks", 2014), usual with Adam.
 */
export type ScalingRule = 'linear' | 'squareRoot';

/** `learningRate` for `ranks` times the batch that it was found for. */
export function scaleLearningRate(learningRate: number, ranks: number, rule: ScalingRule): number {
  return learningRate * (rule === 'linear' ? ranks : Math.sqrt(ranks));
}

/**
 * How a learning rate for one rank's batch is scaled for the batch of several ranks. `linear`
 * multiplies by the number of ranks (Goyal et al., "Accurate, Large Minibatch SGD", 2017).
 * `squareRoot` multiplies by its square root (Krizhevsky, "One weird trick for parallelizing
 * convolutional neural networks", 2014), which is usual with Adam.
 */
export type ScalingRule = 'linear' | 'squareRoot';

/** Scales `learningRate` for a batch that is `ranks` times as large. */
export function scaleLearningRate(learningRate: number, ranks: number, rule: ScalingRule): number {
  return learningRate * (rule === 'linear' ? ranks : Math.sqrt(ranks));
}

import { add, mean, mul, type Tensor } from '@tensorflow/tfjs-core';
import type { LayerGraph, ModelInternals } from '@acc/tfjs-internals';

/**
 * The loss and the metrics of a batch, as in tfjs-layers' own train function.
 *
 * @param data Inputs, targets and sample weights; absent weights are null.
 */
export function fitLoss(
  {
    inputs,
    outputs: symbolic,
    lossFunctions,
    metricsTensors,
  }: LayerGraph & Pick<ModelInternals, 'lossFunctions' | 'metricsTensors'>,
  data: readonly (Tensor | null | undefined)[],
  outputs: readonly Tensor[],
): [Tensor, ...Tensor[]] {
  const targets = data.slice(inputs.length, inputs.length + symbolic.length) as Tensor[];
  const weights = data.slice(inputs.length + symbolic.length);
  const losses = lossFunctions.map((lossFunction, i) => {
    const loss = lossFunction(targets[i]!, outputs[i]!);
    const weight = weights[i];
    return weight ? mul(loss, weight) : loss;
  });
  const metrics = metricsTensors.map(([metric, place], i) =>
    symbolic.length > 1 && i < symbolic.length
      ? mean(losses[i]!)
      : mean(metric(targets[place]!, outputs[place]!)),
  );
  return [mean(losses.reduce((sum, loss) => add(sum, loss))), ...metrics];
}

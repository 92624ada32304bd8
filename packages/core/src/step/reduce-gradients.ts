import { mul, tensor1d, tidy, type NamedTensorMap, type Tensor } from '@tensorflow/tfjs-core';
import { valuesOf, type Collective, type Strategy } from '@acc/contract';
import type { TrainedVariables } from './trained-variables.js';

export interface ReduceGradientsOptions {
  readonly trained: TrainedVariables;
  readonly strategy: Strategy;
  readonly collective: Collective;
  /** This rank's weight in the mean. */
  readonly weight: number;
}

/**
 * Reduces gradients that a loop has computed, and perhaps changed, to their weighted mean over
 * ranks. Ranks may give gradients for different variables: a rank without one takes part with
 * zeros. Candidates for which some rank gives a gradient are prepared from then on. The caller
 * disposes `grads` and the new tensors.
 */
export function reduceGradients(grads: NamedTensorMap, options: ReduceGradientsOptions): NamedTensorMap {
  const { trained, strategy, weight } = options;
  // Candidates come last, so that all ranks have the same order.
  const known = trained.known;
  const given = known.map(({ name }) => grads[name]);
  const isGivenSomewhere = anyRank(given, options.collective);
  const places = known.flatMap((_, i) => (isGivenSomewhere[i]! > 0 ? [i] : []));
  const reduced: Record<string, Tensor> = { ...grads };
  if (places.length === 0) return reduced;
  trained.add(places.map((i) => known[i]!));
  const reduction = strategy.beginReduction(places.map((i) => known[i]!));
  places.forEach((i, k) => {
    const grad = given[i];
    if (grad) reduction.ready(k, mul(grad, weight));
  });
  reduction.finish().forEach((grad, k) => {
    if (grad) reduced[known[places[k]!]!.name] = grad;
  });
  return reduced;
}

/** The number of ranks that have a gradient, for each place. */
function anyRank(given: readonly (Tensor | null | undefined)[], collective: Collective): ArrayLike<number> {
  if (given.length === 0) return [];
  const sums = tidy(() => {
    const flags = tensor1d(given.map((grad) => (grad ? 1 : 0)));
    return collective.allReduceAsync(flags, 'sum', { agreed: true }).wait();
  });
  return valuesOf(sums);
}

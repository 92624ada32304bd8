import { mul, tensor1d, tidy, type NamedTensorMap, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import type { Collective, Strategy } from '@acc/contract';

export interface ReduceGivenOptions {
  /** All prepared variables, in the same order on every rank. */
  readonly prepared: readonly Variable[];
  readonly strategy: Strategy;
  readonly collective: Collective;
  /** This rank's part of the mean. */
  readonly weight: number;
}

/**
 * Gradients that a loop has computed, and perhaps changed, by itself, as their weighted mean over ranks. Ranks may give them
 * for different variables: a rank without one takes part with zeros. Those of variables that were not prepared stay as they
 * are. `grads` stay the caller's, who disposes new ones.
 */
export function reduceGiven(grads: NamedTensorMap, options: ReduceGivenOptions): NamedTensorMap {
  const { prepared, strategy, weight } = options;
  const given = prepared.map(({ name }) => grads[name]);
  const isGivenSomewhere = anyRank(given, options.collective);
  const places = prepared.flatMap((_, i) => (isGivenSomewhere[i]! > 0 ? [i] : []));
  const reduced: Record<string, Tensor> = { ...grads };
  if (places.length === 0) return reduced;
  const reduction = strategy.beginReduction(places.map((i) => prepared[i]!));
  places.forEach((i, k) => {
    const grad = given[i];
    if (grad) reduction.ready(k, mul(grad, weight));
  });
  reduction.finish().forEach((grad, k) => {
    if (grad) reduced[prepared[places[k]!]!.name] = grad;
  });
  return reduced;
}

/** For each place how many ranks have a gradient. */
function anyRank(given: readonly (Tensor | null | undefined)[], collective: Collective): ArrayLike<number> {
  if (given.length === 0) return [];
  return tidy(() => {
    const flags = tensor1d(given.map((grad) => (grad ? 1 : 0)));
    return collective.allReduceAsync(flags, 'sum', { agreed: true }).wait().dataSync();
  });
}

import type { NamedTensorMap, Tensor, Variable } from '@tensorflow/tfjs-core';
import { AccError, type ListMath, type Plugin, type Strategy } from '@acc/contract';

export interface SettleOptions {
  readonly plugins: readonly Plugin[];
  /** The strategy that has reduced the gradients. */
  readonly strategy: Strategy;
  readonly lists: ListMath;
}

/**
 * Lets plugins inspect and change reduced gradients. Returns false, on all ranks, if the step is to
 * be skipped.
 */
export function settle(
  grads: (Tensor | null)[],
  variables: readonly Variable[] | undefined,
  options: SettleOptions,
): boolean {
  let answer: boolean | undefined;
  const info = { variables, allFinite: () => (answer ??= allFinite(grads, options)) };
  let isUsable = true;
  for (const plugin of options.plugins) if (plugin.settle?.(grads, info) === false) isUsable = false;
  return isUsable;
}

/** Does the same for the gradients of `record` that are not in `given`. */
export function settleNew(record: NamedTensorMap, given: NamedTensorMap, options: SettleOptions): boolean {
  const names = Object.keys(record).filter((name) => record[name] !== given[name]);
  if (names.length === 0) return true;
  const grads: (Tensor | null)[] = names.map((name) => record[name]!);
  const isUsable = settle(grads, undefined, options);
  names.forEach((name, i) => (record[name] = grads[i]!));
  return isUsable;
}

function allFinite(grads: (Tensor | null)[], { strategy, lists }: SettleOptions): boolean {
  const places = [...grads.keys()].filter((place) => grads[place] !== null);
  const present = places.map((place) => grads[place]!);
  if (strategy.allFinite) return strategy.allFinite(present);
  if (strategy.traits.parameters === 'sharded') throw cannotTell(strategy);
  const { list, isFinite } = lists.unscale(present, 1);
  // The list math may have replaced the tensors that it was given.
  places.forEach((place, i) => (grads[place] = list[i]!));
  return isFinite;
}

function cannotTell({ name }: Strategy): AccError {
  return new AccError(
    'ACC_STRATEGY_CANNOT',
    `The strategy '${name}' shards gradients and has no allFinite, so ranks cannot decide together whether to skip a step.`,
    { help: "Implement allFinite in the strategy, or train with mixedPrecision 'bf16' or 'no'." },
  );
}

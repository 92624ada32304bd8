import type { NamedTensorMap, Tensor } from '@tensorflow/tfjs-core';
import type { Plugin, SettleInfo } from '@acc/contract';

/** Lets plugins look at gradients that are the same on every rank, and change them. False: the step is skipped. */
export function settle(plugins: readonly Plugin[], grads: (Tensor | null)[], info: SettleInfo): boolean {
  let isUsable = true;
  for (const plugin of plugins) if (plugin.settle?.(grads, info) === false) isUsable = false;
  return isUsable;
}

/** The same for those of `record` that are not in `given`. */
export function settleNew(
  plugins: readonly Plugin[],
  record: NamedTensorMap,
  given: NamedTensorMap,
): boolean {
  const names = Object.keys(record).filter((name) => record[name] !== given[name]);
  if (names.length === 0) return true;
  const grads: (Tensor | null)[] = names.map((name) => record[name]!);
  const isUsable = settle(plugins, grads, { variables: undefined });
  names.forEach((name, i) => (record[name] = grads[i]!));
  return isUsable;
}

import type { NamedTensorMap, Tensor } from '@tensorflow/tfjs-core';

/** Frees the tensors of `record` that are not in `given`. */
export function disposeNew(record: NamedTensorMap, given: NamedTensorMap): void {
  for (const [name, grad] of Object.entries(record)) if (grad !== given[name]) grad.dispose();
}

/** A copy of the record with `tensors` in the place of its tensors. */
export function withTensors(
  entries: readonly [string, Tensor | null][],
  tensors: readonly Tensor[],
): NamedTensorMap {
  let next = 0;
  return Object.fromEntries(entries.map(([name, grad]) => [name, grad && tensors[next++]])) as NamedTensorMap;
}

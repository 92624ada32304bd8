import { concat, dispose, keep, type Tensor4D } from '@tensorflow/tfjs-core';
import type { Kwargs } from './shapes.js';

interface KeysAndValues {
  readonly k: Tensor4D;
  readonly v: Tensor4D;
}

/**
 * The keys and values of positions that a model has seen, for each attention layer. Models get it as
 * `cache` of the second argument of `apply`: they then read the tokens as those that follow.
 */
export class KeyValueCache {
  readonly #seen = new Map<object, KeysAndValues>();
  #length = 0;

  /** The number of positions that are in the cache. */
  get length(): number {
    return this.#length;
  }

  /**
   * Adds keys and values of new positions.
   *
   * @returns Those of all positions. The cache disposes them.
   */
  append(layer: object, k: Tensor4D, v: Tensor4D): KeysAndValues {
    const before = this.#seen.get(layer);
    const all = before
      ? { k: concat([before.k, k], 2), v: concat([before.v, v], 2) }
      : { k: k.clone(), v: v.clone() };
    keep(all.k);
    keep(all.v);
    this.#seen.set(layer, all);
    if (before) dispose([before.k, before.v]);
    return all;
  }

  /** Counts positions as seen. Called once for each call of the model. */
  advance(positions: number): void {
    this.#length += positions;
  }

  dispose(): void {
    for (const { k, v } of this.#seen.values()) dispose([k, v]);
    this.#seen.clear();
    this.#length = 0;
  }
}

/** The cache that a model was called with. */
export function cacheIn(kwargs: Kwargs | undefined): KeyValueCache | undefined {
  return kwargs?.['cache'] as KeyValueCache | undefined;
}

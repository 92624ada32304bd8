import { keep, tensor, type Tensor } from '@tensorflow/tfjs-core';
import type { StateValues } from '../comm-hook.js';

/** Tensors and counts that a hook keeps from step to step, by name. Values that were loaded become tensors when asked for. */
export class KeptState {
  readonly #tensors = new Map<string, Tensor>();
  readonly #counts = new Map<string, number>();
  #loaded: Record<string, number | Float32Array> = {};

  /** The tensor of that name, which stays the state's. The first time it has the values that were loaded, else `initial`. */
  tensor(name: string, shape: readonly number[], initial: () => Tensor): Tensor {
    const kept = this.#tensors.get(name);
    if (kept) return kept;
    const values = this.#loaded[name];
    return this.set(name, values === undefined ? initial() : tensor(values as Float32Array, [...shape]));
  }

  /** Takes over `value` in place of what was there. */
  set(name: string, value: Tensor): Tensor {
    this.#tensors.get(name)?.dispose();
    this.#tensors.set(name, keep(value));
    return value;
  }

  /** Counts the calls with that name: 0 for the first. */
  count(name: string): number {
    const count = this.#counts.get(name) ?? (this.#loaded[name] as number | undefined) ?? 0;
    this.#counts.set(name, count + 1);
    return count;
  }

  read(): StateValues {
    const values: Record<string, number | Float32Array> = { ...this.#loaded };
    for (const [name, count] of this.#counts) values[name] = count;
    for (const [name, kept] of this.#tensors) values[name] = kept.dataSync<'float32'>();
    return values;
  }

  load(values: StateValues): void {
    this.dispose();
    this.#loaded = { ...values };
  }

  dispose(): void {
    for (const kept of this.#tensors.values()) kept.dispose();
    this.#tensors.clear();
    this.#counts.clear();
    this.#loaded = {};
  }
}

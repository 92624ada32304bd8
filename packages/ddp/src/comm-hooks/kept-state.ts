import { all, isFinite, keep, tensor, tidy, type Tensor } from '@tensorflow/tfjs-core';
import type { StateValues } from '../comm-hook.js';

/**
 * Tensors and counts that a hook keeps between steps, by name. New values are pending until it is
 * known whether the step is kept. Loaded values become tensors when they are first used.
 */
export class KeptState {
  readonly #tensors = new Map<string, Tensor>();
  readonly #counts = new Map<string, number>();
  readonly #waiting = new Map<string, number | Tensor>();
  #loaded: Record<string, number | Float32Array> = {};

  /**
   * The tensor with this name. The state owns it. At first it has the loaded values, else
   * `initial`.
   */
  tensor(name: string, shape: readonly number[], initial: () => Tensor): Tensor {
    this.#settleAlone(name);
    const kept = this.#tensors.get(name);
    if (kept) return kept;
    const values = this.#loaded[name];
    const first = keep(values === undefined ? initial() : tensor(values as Float32Array, [...shape]));
    this.#tensors.set(name, first);
    return first;
  }

  /** Takes ownership of `value`, which will replace the current tensor. */
  set(name: string, value: Tensor): void {
    this.#drop(name);
    this.#waiting.set(name, keep(value));
  }

  /** Counts the calls with this name: 0 for the first. */
  count(name: string): number {
    this.#settleAlone(name);
    const count = this.#counts.get(name) ?? (this.#loaded[name] as number | undefined) ?? 0;
    this.#waiting.set(name, count + 1);
    return count;
  }

  /** Applies the values that were set since the last call, or discards them. */
  settle(holds: boolean): void {
    for (const name of [...this.#waiting.keys()]) this.#settle(name, holds);
  }

  read(): StateValues {
    for (const name of [...this.#waiting.keys()]) this.#settleAlone(name);
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
    this.settle(false);
    for (const kept of this.#tensors.values()) kept.dispose();
    this.#tensors.clear();
    this.#counts.clear();
    this.#loaded = {};
  }

  #settle(name: string, holds: boolean): void {
    const value = this.#waiting.get(name)!;
    if (!holds) this.#drop(name);
    else if (typeof value === 'number') this.#counts.set(name, value);
    else {
      this.#tensors.get(name)?.dispose();
      this.#tensors.set(name, value);
    }
    this.#waiting.delete(name);
  }

  /** Applies values if `settle` is never called, as when a hook is used without ddp. */
  #settleAlone(name: string): void {
    const value = this.#waiting.get(name);
    if (value !== undefined) this.#settle(name, typeof value === 'number' || areFinite(value));
  }

  #drop(name: string): void {
    const value = this.#waiting.get(name);
    if (typeof value === 'object') value.dispose();
  }
}

/** Whether all elements are finite. Reads the result from the device. */
export function areFinite(x: Tensor): boolean {
  return tidy(() => all(isFinite(x)).dataSync()[0] === 1);
}

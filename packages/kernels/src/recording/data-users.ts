import type { Tensor } from '@tensorflow/tfjs-core';
import { engineInternals, patch, type Undo } from '@acc/tfjs-internals';

/**
 * The data that kernels take from outside: from variables, or from other tensors that existed
 * before. Native calls do not show which, where both share data.
 */
export class DataUsers {
  /** The tensors that were made since. */
  readonly #made = new WeakSet<Tensor>();
  readonly #ofVariables = new Set<object>();
  readonly #ofOthers = new Set<object>();
  /** The tensors that are no variables and that kernels took from outside, since the watch began. */
  readonly #others = new Set<Tensor>();

  /** Notes the inputs of kernels that run while `isOn` is true, until the returned function is called. */
  watch(isOn: () => boolean): Undo {
    const tfjs = engineInternals();
    const undos = [
      patch(tfjs, 'trackTensor', 'recording', (own) => (tensor, backend) => {
        this.#made.add(tensor);
        own.call(tfjs, tensor, backend);
      }),
      patch(tfjs, 'runKernelFunc', 'recording', (own) => (params) => {
        if (isOn())
          for (const input of Object.values(params.inputs ?? {}).flat()) this.#note(input as Tensor);
        return own.call(tfjs, params);
      }),
    ];
    return () => undos.forEach((undo) => undo());
  }

  /** All tensors that kernels took from outside, but for variables. */
  get others(): ReadonlySet<Tensor> {
    return this.#others;
  }

  /** Forgets which data was noted. */
  forget(): void {
    this.#ofVariables.clear();
    this.#ofOthers.clear();
  }

  /** Whether a kernel took the data as a tensor from outside that is not a variable. */
  hasOther(data: object): boolean {
    return this.#ofOthers.has(data);
  }

  hasVariable(data: object): boolean {
    return this.#ofVariables.has(data);
  }

  #note(input: Tensor | null | undefined): void {
    if (!input) return;
    if ('assign' in input) this.#ofVariables.add(input.dataId);
    else if (!this.#made.has(input)) {
      this.#ofOthers.add(input.dataId);
      this.#others.add(input);
    }
  }
}

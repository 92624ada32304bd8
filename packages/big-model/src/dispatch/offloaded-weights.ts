import { engine, type DataId, type NamedTensorMap, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import { engineInternals, patch, type Undo } from '@acc/tfjs-internals';
import type { OffloadedWeight, OffloadedWeights } from './offloaded-weight.js';
import type { StoredValues } from './stored-values.js';

interface Known {
  readonly weight: OffloadedWeight;
  /** Called when the weight is not offloaded any more. */
  readonly onGone: () => void;
}

/** The offloaded weights of this process. While there are any, operators tell which ones they use. */
class ProcessWeights implements OffloadedWeights {
  readonly #known = new Map<Variable, Known>();
  readonly #byData = new Map<DataId, StoredValues>();
  readonly #changed = new Set<OffloadedWeight>();
  #undos: Undo[] = [];

  add(known: Known): void {
    if (this.#known.size === 0) this.#undos = [this.#watchOperators(), this.#watchDisposal()];
    this.#known.set(known.weight.variable, known);
  }

  of(variable: Variable): OffloadedWeight | undefined {
    return this.#known.get(variable)?.weight;
  }

  remove(variable: Variable): void {
    const known = this.#known.get(variable);
    if (!known) return;
    this.#changed.delete(known.weight);
    this.#known.delete(variable);
    known.weight.letGo();
    known.onGone();
    if (this.#known.size === 0) for (const undo of this.#undos.splice(0)) undo();
  }

  changed(weight: OffloadedWeight): void {
    this.#changed.add(weight);
  }

  uses(values: StoredValues): void {
    this.#byData.set(values.dataId, values);
  }

  forget({ dataId }: StoredValues): void {
    this.#byData.delete(dataId);
  }

  /**
   * Stores the values that programs and optimizers have assigned. A weight that cannot be stored
   * stays in memory until it is assigned other values.
   */
  storeChanged(): void {
    for (const weight of this.#changed) {
      this.#changed.delete(weight);
      if (weight.isChanged) weight.store();
    }
  }

  /** Keeps the weights that an operator uses in memory until its end. */
  #watchOperators(): Undo {
    const tfjs = engineInternals();
    return patch(tfjs, 'runKernelFunc', 'offloaded weights', (own) => (params) => {
      this.storeChanged();
      const used = this.#usedIn(params.inputs);
      if (used.length === 0) return own.call(tfjs, params);
      for (const values of used) {
        values.uses++;
        values.touch();
      }
      try {
        return own.call(tfjs, params);
      } finally {
        for (const values of used) values.uses--;
      }
    });
  }

  #usedIn(inputs: NamedTensorMap): StoredValues[] {
    const used: StoredValues[] = [];
    for (const name of Object.keys(inputs)) {
      const input = inputs[name] as Tensor | readonly Tensor[] | null | undefined;
      for (const tensor of Array.isArray(input) ? (input as Tensor[]) : [input as Tensor]) {
        const values = tensor && this.#byData.get(tensor.dataId);
        if (values) used.push(values);
      }
    }
    return used;
  }

  #watchDisposal(): Undo {
    const tfjs = engine();
    return patch(tfjs, 'disposeVariable', 'offloaded weights', (own) => (variable) => {
      own.call(tfjs, variable);
      this.remove(variable);
    });
  }
}

export const offloadedWeights = new ProcessWeights();

/** Whether the values of the variable are elsewhere while they are not used. */
export const isOffloaded = (variable: Variable): boolean => offloadedWeights.of(variable) !== undefined;

/**
 * Stores values that were assigned to offloaded weights, and frees their memory. Otherwise the next
 * operator does that.
 */
export function storeChangedWeights(): void {
  offloadedWeights.storeChanged();
}

/** Gives offloaded variables their values back, in memory. */
export function bringBack(variables: readonly Variable[]): void {
  for (const variable of variables) offloadedWeights.remove(variable);
}

/** Lets offloaded variables go. Their values are gone, too. */
export function abandon(variables: readonly Variable[]): void {
  for (const variable of variables) {
    offloadedWeights.of(variable)?.leaveEmpty();
    offloadedWeights.remove(variable);
  }
}

/**
 * Runs `prepare`, which takes offloaded variables over: it reads them and gives them other data.
 * Afterwards they are not offloaded any more. If it throws, they stay offloaded.
 */
export function handingOver<T>(variables: readonly Variable[], prepare: () => T): T {
  const handed = variables.flatMap((variable) => offloadedWeights.of(variable) ?? []);
  for (const weight of handed) weight.handOver();
  let result: T;
  try {
    result = prepare();
  } catch (error) {
    for (const weight of handed) weight.takeBack();
    throw error;
  }
  for (const { variable } of handed) offloadedWeights.remove(variable);
  return result;
}

import type { DataType, Tensor, Variable } from '@tensorflow/tfjs-core';
import type { Defer, DeferredTensor } from '@acc/contract';
import { besideTape } from '@acc/tfjs-internals';
import { emptyWeight } from '../errors.js';

/** Where the initial values of a weight come from. */
export interface InitialValues {
  readonly shape: readonly number[];
  readonly dtype: DataType;
  /** Makes the values, the same ones each time. The caller disposes the tensor. */
  make(): Tensor;
  /** Frees what the values are made from. */
  drop(): void;
}

/** The values of a weight before it has memory. */
export class EmptyWeight {
  readonly #deferred: DeferredTensor;
  #name = '';
  #isOpen = false;

  constructor(
    private readonly initial: InitialValues,
    defer: Defer,
  ) {
    const { shape, dtype } = initial;
    this.#deferred = defer({ shape, dtype }, () => this.#load());
  }

  /** Has shape and dtype. The caller disposes it; variables that were made of it stay. */
  get tensor(): Tensor {
    return this.#deferred.tensor;
  }

  /** Names the weight in errors. */
  set name(name: string) {
    this.#name = name;
  }

  /** Whether the variable has the deferred values still, and no others. */
  isIn(variable: Variable): boolean {
    return !variable.isDisposed && variable.dataId === this.#deferred.tensor.dataId;
  }

  /** From now on, who needs the values gets the initial ones. */
  open(): void {
    this.#isOpen = true;
  }

  /** From now on, who needs the values gets an error. Frees values that were needed. */
  close(): void {
    this.#isOpen = false;
    this.#deferred.release();
  }

  /** The initial values are not needed any more. */
  drop(): void {
    this.initial.drop();
  }

  /** Gives the variable memory with the initial values. */
  fill(variable: Variable): void {
    const values = this.initial.make();
    variable.assign(values);
    values.dispose();
  }

  #load(): void {
    if (!this.#isOpen) throw emptyWeight(this.#name, this.initial.shape);
    besideTape(() => {
      const values = this.initial.make();
      this.#deferred.fill(values);
      values.dispose();
    });
  }
}

const emptyWeights = new WeakMap<Variable, EmptyWeight>();

/** Notes that the variable was made of `empty`. */
export function noteEmpty(variable: Variable, empty: EmptyWeight): void {
  empty.name = variable.name;
  emptyWeights.set(variable, empty);
}

/** The variable's weight without memory. Undefined if it has values. */
export function emptyWeightOf(variable: Variable): EmptyWeight | undefined {
  const empty = emptyWeights.get(variable);
  if (!empty) return undefined;
  if (empty.isIn(variable)) return empty;
  // It was assigned other values.
  empty.drop();
  emptyWeights.delete(variable);
  return undefined;
}

/**
 * Runs `prepare`, in which reading an empty weight of the list gives its initial values, and
 * assigning to it fills it. Afterwards those that nobody has assigned are filled with these values.
 * If `prepare` throws, they stay empty.
 */
export function fillingEmpty<T>(variables: readonly Variable[], prepare: () => T): T {
  const empty = variables.flatMap((variable) => {
    const weight = emptyWeightOf(variable);
    return weight ? [{ variable, weight }] : [];
  });
  for (const { weight } of empty) weight.open();
  try {
    const result = prepare();
    for (const { variable, weight } of empty) {
      if (weight.isIn(variable)) weight.fill(variable);
      weight.drop();
    }
    return result;
  } catch (error) {
    for (const { variable, weight } of empty) if (weight.isIn(variable)) weight.close();
    throw error;
  }
}

import { engine, keep, type DataId, type DataType, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import type { Defer, DeferredTensor } from '@acc/contract';
import { besideTape, patch, type Undo } from '@acc/tfjs-internals';
import { emptyWeight } from '../errors.js';

/** Where the initial values of a weight come from. */
export interface InitialValues {
  readonly shape: readonly number[];
  readonly dtype: DataType;
  /** Makes the values, the same ones each time. The caller disposes the tensor. */
  make(): Tensor;
  /** Frees what the values are made from. May be called again. */
  drop(): void;
}

/** Drops what values are made from when nothing refers to their data any more. */
const collected = new FinalizationRegistry<Pick<InitialValues, 'drop'>>((initial) => initial.drop());

/**
 * @param initial Refers to the data neither itself nor by its functions, which refer to everything that
 * any function of their scope uses.
 */
export function dropWhenCollected(data: DataId, initial: Pick<InitialValues, 'drop'>): void {
  collected.register(data, initial);
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
    dropWhenCollected(this.tensor.dataId, initial);
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

  /** Drops what the initial values are made from if no tensor has them any more. */
  dropIfUnused(): void {
    if (this.#deferred.holders === 0) this.initial.drop();
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

interface Noted {
  readonly empty: EmptyWeight;
  readonly undos: readonly Undo[];
}

const emptyWeights = new WeakMap<Variable, Noted>();

/** Notes that the variable has the values of `empty`, until it is assigned others or disposed. */
export function noteEmpty(variable: Variable, empty: EmptyWeight): void {
  empty.name = variable.name;
  const undos = [
    patch(variable, 'assign', 'empty weights', (own) => (values) => {
      own.call(variable, values);
      forgetFilled(variable);
    }),
    seeDisposed(),
  ];
  emptyWeights.set(variable, { empty, undos });
}

let undoSeeDisposed: Undo = () => {};
/** How many variables need it. */
let needed = 0;

/** Forgets variables that are disposed. tfjs's `disposeVariables` does not call their `dispose`. */
function seeDisposed(): Undo {
  const tfjs = engine();
  if (++needed === 1) {
    undoSeeDisposed = patch(tfjs, 'disposeVariable', 'empty weights', (own) => (variable) => {
      own.call(tfjs, variable);
      forget(variable);
    });
  }
  return () => void (--needed === 0 && undoSeeDisposed());
}

function forgetFilled(variable: Variable): void {
  if (!emptyWeights.get(variable)?.empty.isIn(variable)) forget(variable);
}

function forget(variable: Variable): void {
  const noted = emptyWeights.get(variable);
  if (!noted) return;
  emptyWeights.delete(variable);
  for (const undo of noted.undos) undo();
  noted.empty.dropIfUnused();
}

/** The variable's weight without memory. Undefined if it has values. */
export function emptyWeightOf(variable: Variable): EmptyWeight | undefined {
  forgetFilled(variable);
  return emptyWeights.get(variable)?.empty;
}

/** Empty weights that others fill. Until it is disposed, they can be given back. */
export class EmptyLoan implements Disposable {
  readonly #given: readonly { variable: Variable; empty: EmptyWeight; tensor: Tensor }[];

  constructor(variables: readonly Variable[]) {
    this.#given = variables.flatMap((variable) => {
      const empty = emptyWeightOf(variable);
      return empty ? [{ variable, empty, tensor: besideTape(() => keep(variable.clone())) }] : [];
    });
  }

  /** The weights are empty again. */
  giveBack(): void {
    for (const { variable, empty, tensor } of this.#given) {
      if (variable.isDisposed || empty.isIn(variable)) continue;
      variable.assign(tensor);
      noteEmpty(variable, empty);
    }
  }

  [Symbol.dispose](): void {
    for (const { empty, tensor } of this.#given) {
      tensor.dispose();
      empty.dropIfUnused();
    }
  }
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
    }
    return result;
  } catch (error) {
    for (const { variable, weight } of empty) if (weight.isIn(variable)) weight.close();
    throw error;
  }
}

import { mul, tidy, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import type { Update } from '@acc/kernels';
import type { Attribute } from '../backend.js';
import type { Operators } from '../operators.js';
import type { Registers } from '../registers.js';

/** How a class of optimizers takes a step with TensorFlow's operators. */
export interface Rule<Optimizer> {
  /** Called once in a step. Returns what updates a variable and its state. */
  open(optimizer: Optimizer, step: Step): (update: Update) => void;
  /** Called once, after all variables are updated. */
  advance?(optimizer: Optimizer): void;
}

/** One optimizer step. TensorFlow's tensors that are made in it are deleted at its end. */
export class Step implements Disposable {
  readonly #made: number[] = [];
  readonly #attributes: readonly Attribute[];

  constructor(
    readonly operators: Operators,
    readonly registers: Registers,
  ) {
    this.#attributes = [...operators.floats, operators.flag('use_locking', false)];
  }

  scalar(value: number): number {
    return this.keep(this.operators.scalar(value));
  }

  scalars(...values: readonly number[]): number[] {
    return values.map((value) => this.scalar(value));
  }

  /** Deletes `id` at the end of the step. */
  keep(id: number): number {
    this.#made.push(id);
    return id;
  }

  idOf(x: Tensor): number {
    return this.operators.idOf(x);
  }

  /** Runs an operator that writes its first inputs, which are registers. */
  write(name: string, inputs: readonly number[], more: readonly Attribute[] = []): void {
    this.operators.binding.executeOp(name, [...this.#attributes, ...more], inputs, 0);
  }

  /** Runs an operator on float32 tensors. Its result is deleted by {@link freeing}. */
  compute(name: string, ...inputs: readonly number[]): number {
    return this.keep(this.operators.run(name, this.operators.floats, inputs).id);
  }

  /** Runs `compute`, and deletes at its end what it made. So big temporaries live for one variable. */
  freeing(compute: () => void): void {
    const start = this.#made.length;
    try {
      compute();
    } finally {
      this.operators.delete(...this.#made.splice(start));
    }
  }

  /** register ← register · factor */
  shrink(register: number, factor: number): void {
    this.freeing(() => {
      const before = this.keep(this.registers.read(register).id);
      this.registers.assign(register, this.compute('Mul', before, this.scalar(factor)));
    });
  }

  [Symbol.dispose](): void {
    this.operators.delete(...this.#made.splice(0));
    this.registers.release();
  }
}

/** Values of scalars, by data. Reading a value from a GPU waits for it. */
const known = new WeakMap<object, number>();

/** The single element of `x`, which is read once for each data. */
export function valueOf(x: Tensor): number {
  let value = known.get(x.dataId);
  if (value === undefined) {
    value = x.dataSync()[0]!;
    known.set(x.dataId, value);
  }
  return value;
}

/** variable ← variable · factor, rounded as float32. */
export function multiply(variable: Variable, factor: number): void {
  const value = Math.fround(valueOf(variable) * Math.fround(factor));
  tidy(() => variable.assign(mul(variable, factor)));
  known.set(variable.dataId, value);
}

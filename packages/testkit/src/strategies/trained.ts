import {
  dispose,
  engine,
  memory,
  range,
  reshape,
  sin,
  tidy,
  util,
  variable,
  zeros,
  type NamedTensorMap,
  type Optimizer,
  type Tensor,
  type Variable,
} from '@tensorflow/tfjs-core';
import type { Strategy } from '@acc/contract';
import { require } from '../collectives/subject.js';
import { expectClose } from '../expect-close.js';
import type { StrategySubject } from './subject.js';

/** Some sizes that no number of ranks divides, one that is smaller than most numbers of ranks. */
const SHAPES: readonly (readonly number[])[] = [[4, 6], [5], [3, 7, 2], [1], [10]];

/** Numbers that depend on `seed`. None of them is zero. */
export function numbers(shape: readonly number[], seed: number): Tensor {
  const size = util.sizeFromShape([...shape]);
  return tidy(() => reshape(sin(range(seed + 1, seed + 1 + size, 1)), [...shape]));
}

/** Trained variables under a strategy, and how a program treats them. */
export class Training {
  readonly variables: readonly Variable[];
  readonly strategy: Strategy;

  constructor({ create, context }: StrategySubject) {
    const { rank } = context.collective;
    this.variables = SHAPES.map((shape, i) => {
      const values = numbers(shape, 10 * i + 100 * rank);
      const created = variable(values);
      values.dispose();
      return created;
    });
    this.strategy = create();
    this.strategy.attach(context);
    this.strategy.prepareVariables(this.variables);
  }

  /**
   * Reduces gradients of this rank. The caller disposes the results.
   *
   * @param grads By the place of the variable. A rank may lack some.
   */
  reduce(grads: readonly (Tensor | undefined)[]): (Tensor | null)[] {
    const reduction = this.strategy.beginReduction(this.variables);
    // Backward finishes the gradients of the last variables first.
    for (const i of [...grads.keys()].reverse()) if (grads[i]) reduction.ready(i, grads[i]);
    return reduction.finish();
  }

  named(grads: readonly (Tensor | null)[]): NamedTensorMap {
    const present = grads.flatMap((grad, i) => (grad ? [[this.variables[i]!.name, grad] as const] : []));
    return Object.fromEntries(present);
  }

  /** Takes a step with reduced gradients, which it disposes. */
  update(
    grads: readonly (Tensor | null)[],
    optimizer: Optimizer,
    apply: (given: NamedTensorMap) => void = (given) => optimizer.applyGradients(given),
  ): void {
    const record = this.named(grads);
    if (this.strategy.update) this.strategy.update(record, apply, optimizer);
    else apply(record);
    dispose(record);
  }

  /** The whole values, as checkpoints and evaluations read them. */
  values(): number[][] {
    const tensors = this.strategy.materialize?.(this.variables) ?? this.variables.map((each) => each.clone());
    const values = tensors.map((each) => [...each.dataSync()]);
    dispose(tensors);
    return values;
  }

  end(): void {
    this.strategy.detach?.();
    for (const each of this.variables) each.dispose();
  }
}

/** Runs a case with fresh variables, and frees them. */
export function training(subject: StrategySubject, run: (training: Training) => void): void {
  const trained = new Training(subject);
  try {
    run(trained);
  } finally {
    trained.end();
  }
}

/** Gradients of a rank for the variables of a {@link Training}. */
export function gradientsOf(rank: number, step = 0): Tensor[] {
  return SHAPES.map((shape, i) => numbers(shape, 7 * i + 50 * rank + 1000 * step));
}

/** The sums of {@link gradientsOf} over all ranks. */
export function sumsOf(ranks: number, step = 0): number[][] {
  return SHAPES.map((shape, i) => {
    const sums = new Array<number>(util.sizeFromShape([...shape])).fill(0);
    for (let rank = 0; rank < ranks; rank++) {
      const grad = numbers(shape, 7 * i + 50 * rank + 1000 * step);
      grad.dataSync().forEach((value, k) => (sums[k]! += value));
      grad.dispose();
    }
    return sums;
  });
}

/** The values that all ranks start from. */
export function startValues(): number[][] {
  return SHAPES.map((shape, i) => {
    const values = numbers(shape, 10 * i);
    const list = [...values.dataSync()];
    values.dispose();
    return list;
  });
}

/** The same steps by an optimizer in one process. @param grads By step and variable. */
export function plainSteps(grads: readonly (readonly number[][])[], optimizer: Optimizer): number[][] {
  const variables = startValues().map((values, i) => {
    const first = tidy(() => reshape(zeros([values.length]), [...SHAPES[i]!]));
    const created = variable(first);
    first.dispose();
    assignNumbers(created, values);
    return created;
  });
  for (const ofStep of grads) {
    const record = Object.fromEntries(
      variables.map((each, i) => [each.name, tensorOf(ofStep[i]!, each.shape)]),
    );
    optimizer.applyGradients(record);
    dispose(record);
  }
  const values = variables.map((each) => [...each.dataSync()]);
  for (const each of variables) each.dispose();
  return values;
}

export function tensorOf(values: readonly number[], shape: readonly number[]): Tensor {
  return engine().makeTensor(Float32Array.from(values), [...shape], 'float32');
}

export function assignNumbers(to: Variable, values: readonly number[]): void {
  const tensor = tensorOf(values, to.shape);
  to.assign(tensor);
  tensor.dispose();
}

/** @throws Error with the worst difference of more than 1e-5 + 1e-4 of the size, or a difference in shape. */
export function requireClose(actual: readonly number[][], expected: readonly number[][], what: string): void {
  try {
    expectClose(actual, expected, { rtol: 1e-4, atol: 1e-5 });
  } catch (error) {
    throw new Error(`${what}: ${(error as Error).message}`, { cause: error });
  }
}

/** @throws Error if `fn` leaves tensors. */
export function requireNoneLeft(fn: () => void, what: string): void {
  const before = memory().numTensors;
  fn();
  const left = memory().numTensors - before;
  require(left === 0, `${what} leaves ${left} tensors`);
}

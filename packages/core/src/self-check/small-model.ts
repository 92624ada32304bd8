import {
  add,
  matMul,
  mean,
  type Optimizer,
  type Scalar,
  square,
  sub,
  tanh,
  type Tensor,
  tensor,
  type Tensor2D,
  tidy,
  train,
  type Variable,
  variable,
} from '@tensorflow/tfjs-core';

const [INPUTS, HIDDEN, OUTPUTS] = [8, 16, 4] as const;
/** Rows of each rank. */
export const ROWS = 4;
const [RATE, MOMENTUM] = [0.1, 0.9] as const;

/** A network of two layers as variables. */
export interface SmallModel {
  readonly variables: Variable[];
  readonly loss: (xs: Tensor, ys: Tensor) => Scalar;
}

/** Numbers between -1 and 1 without a pattern that a mistake could share. */
const numbers = (shape: readonly number[], phase: number, scale: number): Tensor => {
  const size = shape.reduce((a, b) => a * b, 1);
  return tensor(
    Float32Array.from({ length: size }, (_, i) => scale * Math.sin(phase + 1.7 * i * i)),
    [...shape],
  );
};

/** @param scale 0 makes all weights zero. */
export function smallModel(name: string, scale: number): SmallModel {
  const shapes = [[INPUTS, HIDDEN], [HIDDEN], [HIDDEN, OUTPUTS], [OUTPUTS]];
  const variables = shapes.map((shape, i) =>
    tidy(() => variable(numbers(shape, i, 0.5 * scale), true, `${name}/${i}`)),
  );
  const [w1, b1, w2, b2] = variables as [Variable, Variable, Variable, Variable];
  const loss = (xs: Tensor, ys: Tensor): Scalar => {
    const hidden = tanh(add(matMul(xs as Tensor2D, w1 as Tensor as Tensor2D), b1));
    const output = add(matMul(hidden as Tensor2D, w2 as Tensor as Tensor2D), b2);
    return mean(square(sub(output, ys)));
  };
  return { variables, loss };
}

/** The batch of all ranks. The caller disposes it. */
export function globalBatch(ranks: number): { xs: Tensor; ys: Tensor } {
  return { xs: numbers([ROWS * ranks, INPUTS], 11, 1), ys: numbers([ROWS * ranks, OUTPUTS], 23, 1) };
}

export const smallOptimizer = (): Optimizer => train.momentum(RATE, MOMENTUM);

/** The values of all variables, one after the other. Under sharding, every rank calls it. */
export function valuesOf(variables: readonly Variable[]): number[] {
  return variables.flatMap((variable) => Array.from(variable.dataSync()));
}

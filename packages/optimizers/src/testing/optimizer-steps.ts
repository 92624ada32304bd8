import * as tf from '@tensorflow/tfjs';

export type NamedTensor = Awaited<ReturnType<tf.Optimizer['getWeights']>>[number];

/** A matrix, a scalar, a vector, an empty tensor, and a tensor with three dims. */
export const SHAPES: readonly (readonly number[])[] = [[3, 4], [], [5], [0, 2], [2, 1, 3]];

/** Numbers in [-1, 1) that are the same in every run. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return state / 2 ** 31;
  };
}

const numbersOf = (shape: readonly number[], next: () => number): number[] =>
  Array.from({ length: tf.util.sizeFromShape([...shape]) }, next);

/** The initial values of a variable for each of {@link SHAPES}. */
export function firstWeights(): number[][] {
  const next = randomNumbers(7);
  return SHAPES.map((shape) => numbersOf(shape, next));
}

/** The gradients of a step, counted from 0. In each step, some variables have no gradient. */
export function gradientValues(step: number): (number[] | undefined)[] {
  const next = randomNumbers(100 + step);
  return SHAPES.map((shape, i) => {
    const values = numbersOf(shape, next);
    return (step + i) % 4 === 3 ? undefined : values;
  });
}

/** Variables of {@link SHAPES}, named `<names>/<index>`. Caller disposes. */
export function makeVariables(names: string): tf.Variable[] {
  return firstWeights().map((values, i) =>
    tf.tidy(() => tf.variable(tf.tensor(values, [...SHAPES[i]!]), true, `${names}/${i}`)),
  );
}

/**
 * {@link gradientValues} in the two forms of tfjs's `minimize`: a list in odd steps, a record in
 * even steps.
 */
export function makeGradients(
  variables: readonly tf.Variable[],
  step: number,
): NamedTensor[] | tf.NamedTensorMap {
  const values = gradientValues(step);
  const list = variables.map(({ name, shape }, i) => ({
    name,
    tensor: values[i] ? tf.tensor(values[i], shape) : (null as never),
  }));
  return step % 2 ? list : Object.fromEntries(list.map(({ name, tensor }) => [name, tensor]));
}

import * as tf from '@tensorflow/tfjs';

export type NamedTensor = Awaited<ReturnType<tf.Optimizer['getWeights']>>[number];

/** A matrix, a scalar, a vector, nothing, and three dims. */
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

/** The first values of a variable of each of {@link SHAPES}. */
export function firstWeights(): number[][] {
  const next = randomNumbers(7);
  return SHAPES.map((shape) => numbersOf(shape, next));
}

/** The gradients of a step, the first being 0; in each, some variables have none. */
export function gradientValues(step: number): (number[] | undefined)[] {
  const next = randomNumbers(100 + step);
  return SHAPES.map((shape, i) => {
    const values = numbersOf(shape, next);
    return (step + i) % 4 === 3 ? undefined : values;
  });
}

/** Variables of {@link SHAPES}, named `<names>/<index>`, to be disposed. */
export function makeVariables(names: string): tf.Variable[] {
  return firstWeights().map((values, i) =>
    tf.tidy(() => tf.variable(tf.tensor(values, [...SHAPES[i]!]), true, `${names}/${i}`)),
  );
}

/** {@link gradientValues} as tfjs's `minimize` hands them on: half of the steps as a list, the others as a record. */
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

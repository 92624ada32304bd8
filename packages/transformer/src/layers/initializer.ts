import { initializers } from '@tensorflow/tfjs-layers';

type Initializer = ReturnType<typeof initializers.zeros>;

/** Draws from a normal distribution. A standard deviation of 0 draws nothing. */
export function normal(stddev: number): Initializer {
  return stddev === 0 ? initializers.zeros() : initializers.randomNormal({ mean: 0, stddev });
}

/** Undefined leaves the choice to the layer. */
export function normalOrDefault(stddev: number | undefined): Initializer | undefined {
  return stddev === undefined ? undefined : normal(stddev);
}

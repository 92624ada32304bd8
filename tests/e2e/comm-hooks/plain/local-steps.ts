import { LOCAL, sizeOf } from '../cases.js';
import { number } from '../numbers.js';
import { meanOf } from './plain-hook.js';

/**
 * The new weights, from the ranks' mean and from the weights of the last synchronization, by
 * variable.
 */
export type Meet = (means: number[][], before: number[][]) => number[][];

/** Stich, "Local SGD", 2019, algorithm 1. */
export const average: Meet = (means) => means;

/**
 * Douillard et al., "DiLoCo", 2023, algorithm 1, with SGD with Nesterov momentum, rate 0.7 and
 * momentum 0.9.
 */
export function outerStep(): Meet {
  const velocity = LOCAL.shapes.map((shape) => new Array<number>(sizeOf(shape)).fill(0));
  return (means, before) =>
    means.map((mean, variable) =>
      mean.map((x, i) => {
        const start = before[variable]![i]!;
        velocity[variable]![i] = 0.9 * velocity[variable]![i]! + (start - x);
        return start - 0.7 * (start - x + 0.9 * velocity[variable]![i]!);
      }),
    );
}

/**
 * Each rank's weights after each step and after the end, for SGD with momentum on |w - target|² / 2
 * from zeros.
 */
export function plainLocalSteps(size: number, every: number, meet: Meet): number[][][][] {
  const zeros = () => LOCAL.shapes.map((shape) => new Array<number>(sizeOf(shape)).fill(0));
  let before = zeros();
  const weights = Array.from({ length: size }, zeros);
  const velocities = Array.from({ length: size }, zeros);
  const history: number[][][][] = weights.map(() => []);
  const write = () => weights.forEach((ofRank, r) => history[r]!.push(ofRank.map((w) => [...w])));
  const meetNow = () => {
    before = meet(meanOf(weights), before);
    for (let r = 0; r < size; r++) weights[r] = before.map((w) => [...w]);
  };
  for (let step = 0; step < LOCAL.steps; step++) {
    weights.forEach((ofRank, r) =>
      ofRank.forEach((w, variable) =>
        w.forEach((x, i) => {
          const velocity = LOCAL.momentum * velocities[r]![variable]![i]! + x - number(r, step, variable, i);
          velocities[r]![variable]![i] = velocity;
          w[i] = x - LOCAL.rate * velocity;
        }),
      ),
    );
    if ((step + 1) % every === 0) meetNow();
    write();
  }
  if (LOCAL.steps % every > 0) meetNow();
  write();
  return history;
}

import { keep, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, type RandomLayer } from '@acc/contract';
import { patch } from '@acc/tfjs-internals';

/**
 * Runs a computation twice with the same random numbers, both those that tfjs draws in JavaScript
 * and those of the backend.
 */
export interface SameRandom {
  /** The random state of the backend at the first run. The caller owns it. */
  readonly states: Tensor[];
  first<T>(run: () => T): T;
  /**
   * Runs the computation again. Later draws are not affected.
   *
   * @throws AccError `ACC_CHECKPOINT_CHANGED` if it draws more numbers than in the first run.
   */
  again<T>(run: () => T): T;
}

/** @param backend Absent if only tfjs draws. */
export function sameRandom(backend: RandomLayer | undefined): SameRandom {
  const state = backend && keep(backend.state());
  // tfjs seeds its generators with Math.random, one number for each random tensor.
  const drawn: number[] = [];
  return {
    states: state ? [state] : [],
    first(run) {
      const noted = (random: () => number) => {
        const value = random();
        drawn.push(value);
        return value;
      };
      return withMathRandom(noted, run);
    },
    again: (run) => {
      let next = 0;
      const replayed = () => {
        if (next < drawn.length) return drawn[next++]!;
        throw new AccError(
          'ACC_CHECKPOINT_CHANGED',
          'A checkpointed function drew more random numbers in the second run than in the first.',
          {
            help: 'Give checkpoint a function that does the same each time it is called with the same inputs.',
          },
        );
      };
      if (!state) return withMathRandom(replayed, run);
      const now = backend.exchange(state);
      try {
        return withMathRandom(replayed, run);
      } finally {
        backend.exchange(now).dispose();
        now.dispose();
      }
    },
  };
}

function withMathRandom<T>(draw: (own: () => number) => number, run: () => T): T {
  const undo = patch(Math, 'random', 'recomputation', (own) => () => draw(own));
  try {
    return run();
  } finally {
    undo();
  }
}

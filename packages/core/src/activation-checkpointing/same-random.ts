import { keep, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, type RandomLayer } from '@acc/contract';
import { patch } from '@acc/tfjs-internals';

/** Runs one computation twice with the same random numbers: those that tfjs draws in JavaScript and the backend's own. */
export interface SameRandom {
  /** The backend's random state as it was at first. The caller's. */
  readonly states: Tensor[];
  first<T>(run: () => T): T;
  /**
   * Draws made since then are not disturbed.
   *
   * @throws AccError `ACC_CHECKPOINT_CHANGED` for more draws than the first time.
   */
  again<T>(run: () => T): T;
}

/** @param backend Absent where tfjs alone draws. */
export function sameRandom(backend: RandomLayer | undefined): SameRandom {
  const state = backend && keep(backend.state());
  // tfjs's generators are seeded by Math.random, one number for each tensor of random ones.
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
          'A checkpointed function draws more random numbers again than at first.',
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
  const undo = patch(Math, 'random', (own) => () => draw(own));
  try {
    return run();
  } finally {
    undo();
  }
}

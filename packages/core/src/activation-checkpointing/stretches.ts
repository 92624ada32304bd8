import type { Call } from './model-graph.js';

/** Calls of layers in a row, which are computed again together, or not at all. */
export interface Stretch {
  /** Positions among the model's calls, the last one excluded. */
  readonly first: number;
  readonly end: number;
  readonly isCheckpointed: boolean;
  /** Ids of what its calls take from before, and of what is taken of theirs after it. */
  readonly takes: readonly number[];
  readonly gives: readonly number[];
}

/**
 * Stretches of `every` calls. The last one is not computed again: backward begins with it. Nor is a layer with a state, which
 * would go on from another one.
 *
 * @param outputs Ids of the model's results.
 */
export function stretchesOf(calls: readonly Call[], every: number, outputs: readonly number[]): Stretch[] {
  const bounds = boundsOf(calls, every);
  return bounds.slice(0, -1).map((first, k) => {
    const end = bounds[k + 1]!;
    const own = calls.slice(first, end);
    const made = new Set(own.flatMap((call) => call.outputs));
    const later = new Set([...calls.slice(end).flatMap(({ inputs }) => inputs), ...outputs]);
    return {
      first,
      end,
      isCheckpointed: end < calls.length && !calls[first]!.layer.stateful,
      takes: [...new Set(own.flatMap(({ inputs }) => inputs))].filter((id) => !made.has(id)),
      gives: [...made].filter((id) => later.has(id)),
    };
  });
}

/** Where stretches begin, and the end of the last. */
function boundsOf(calls: readonly Call[], every: number): number[] {
  const bounds = [0];
  calls.forEach(({ layer }, i) => {
    const isAlone = layer.stateful === true || calls[i - 1]?.layer.stateful === true;
    if (i > 0 && (isAlone || i - bounds.at(-1)! === every)) bounds.push(i);
  });
  return [...bounds, calls.length];
}

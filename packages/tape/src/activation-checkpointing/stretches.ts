import type { GraphCall } from '@acc/tfjs-internals';

/** A sequence of layer calls that are recomputed together or not at all. */
export interface Stretch {
  /** The range of positions among the model's calls. `end` is exclusive. */
  readonly first: number;
  readonly end: number;
  readonly isCheckpointed: boolean;
  /**
   * The ids of the tensors that its calls use from before, and of those that later calls use from
   * it.
   */
  readonly takes: readonly number[];
  readonly gives: readonly number[];
}

/**
 * Divides the calls into stretches of `every` calls. The last stretch is not recomputed, because
 * backward begins with it. A stateful layer is not recomputed either, because its state has
 * changed.
 *
 * @param outputs The ids of the model's results.
 */
export function stretchesOf(
  calls: readonly GraphCall[],
  every: number,
  outputs: readonly number[],
): Stretch[] {
  const bounds = boundsOf(calls, every);
  return bounds.slice(0, -1).map((first, k) => {
    const end = bounds[k + 1]!;
    const own = calls.slice(first, end);
    const created = new Set(own.flatMap((call) => call.outputs));
    const later = new Set([...calls.slice(end).flatMap(({ inputs }) => inputs), ...outputs]);
    return {
      first,
      end,
      isCheckpointed: end < calls.length && !calls[first]!.layer.stateful,
      takes: [...new Set(own.flatMap(({ inputs }) => inputs))].filter((id) => !created.has(id)),
      gives: [...created].filter((id) => later.has(id)),
    };
  });
}

/** The starts of the stretches, and the end of the last one. */
function boundsOf(calls: readonly GraphCall[], every: number): number[] {
  const bounds = [0];
  calls.forEach(({ layer }, i) => {
    const isAlone = layer.stateful === true || calls[i - 1]?.layer.stateful === true;
    if (i > 0 && (isAlone || i - bounds.at(-1)! === every)) bounds.push(i);
  });
  return [...bounds, calls.length];
}

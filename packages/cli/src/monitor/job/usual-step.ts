import { medianLow } from '@acc/contract';

const LAST = 20;

/**
 * The median time of the last steps, in milliseconds. A pause, as for an evaluation or a rank that hung,
 * makes their mean many times longer, and a window asked for by it begins before ranks know of it.
 *
 * @param steps Their ends in milliseconds since 1970, the oldest one first.
 * @returns Undefined if there were no two.
 */
export function usualStepMs(steps: readonly { readonly end: number }[]): number | undefined {
  const ends = steps.slice(-LAST).map(({ end }) => end);
  return ends.length < 2 ? undefined : medianLow(ends.slice(1).map((end, i) => end - ends[i]!));
}

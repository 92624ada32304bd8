import { setTimeout as sleep } from 'node:timers/promises';

export interface PollOptions {
  /** How long to go on asking. Default: without end. */
  readonly timeoutMs?: number;
  /** The longest pause. Default 100; more where asking costs something. */
  readonly longestPauseMs?: number;
  /** Ends the current pause at once, after which `ask` is called for the last time. */
  readonly signal?: AbortSignal;
}

const SHORTEST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 100;

/**
 * Calls `ask` until it gives something. A pause is an eighth of the time waited so far, within bounds: an answer is noticed
 * late by an eighth of its time at most, and `ask` is called seldom for what takes long.
 *
 * @returns What `ask` gave; undefined when it gave nothing until the time-out or the signal. It is called at least once.
 * @throws Whatever `ask` throws.
 */
export async function poll<T>(
  ask: () => T | undefined | Promise<T | undefined>,
  { timeoutMs = Infinity, longestPauseMs = LONGEST_PAUSE_MS, signal }: PollOptions = {},
): Promise<T | undefined> {
  const start = performance.now();
  for (;;) {
    // Looked at before asking, so that the last answer is from after the end.
    const waitedMs = performance.now() - start;
    const isLast = waitedMs >= timeoutMs || signal?.aborted;
    const found = await ask();
    if (found !== undefined || isLast) return found;
    const pauseMs = Math.min(Math.max(waitedMs / 8, SHORTEST_PAUSE_MS), longestPauseMs);
    await sleep(Math.min(pauseMs, Math.max(timeoutMs - waitedMs, 0)), undefined, { signal }).catch(() => {});
  }
}

export interface PollOptions {
  /** The time limit, in milliseconds. Default: none. */
  readonly timeoutMs?: number;
  /** The longest pause, in milliseconds. Default 100. Use more if `ask` is expensive. */
  readonly longestPauseMs?: number;
  /** Ends the current pause at once. `ask` is then called a last time. */
  readonly signal?: AbortSignal;
}

const SHORTEST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 100;

/**
 * Calls `ask` until it returns a value. A pause is one eighth of the time waited so far, within
 * limits. Therefore an answer is noticed at most one eighth of its time late, and `ask` is called
 * rarely during long waits.
 *
 * @returns The value of `ask`. Undefined if it returned none before the time-out or the signal. It
 * is called at least once.
 * @throws The errors of `ask`.
 */
export async function poll<T>(
  ask: () => T | undefined | Promise<T | undefined>,
  { timeoutMs = Infinity, longestPauseMs = LONGEST_PAUSE_MS, signal }: PollOptions = {},
): Promise<T | undefined> {
  const start = performance.now();
  for (;;) {
    // Computed before asking, so that the last call of `ask` is after the end of the time limit.
    const waitedMs = performance.now() - start;
    const isLast = waitedMs >= timeoutMs || signal?.aborted;
    const found = await ask();
    if (found !== undefined || isLast) return found;
    const pauseMs = Math.min(Math.max(waitedMs / 8, SHORTEST_PAUSE_MS), longestPauseMs);
    await pause(Math.min(pauseMs, Math.max(timeoutMs - waitedMs, 0)), signal);
  }
}

/** Resolves after `ms` milliseconds, or with the signal. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
  });
}

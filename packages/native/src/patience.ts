/**
 * How long a group waits before it acts on what other ranks do, in milliseconds. The struct of this
 * name in cpp/engine/groups/process_group.h has the same members in the same order.
 */
export interface Patience {
  /** A wait that lasts longer is announced to the other ranks, and their calls are compared. */
  readonly noticeMs: number;
  /** The time in which a call may still end after a connection was closed. */
  readonly graceMs: number;
  /** A host that has not answered for longer is lost. At least {@link SHORTEST_SILENCE_MS}. */
  readonly silenceMs: number;
  /** For a wait that lasts longer, a deadlock is searched for. */
  readonly deadlockMs: number;
}

export const DEFAULT_PATIENCE: Patience = {
  noticeMs: 1_000,
  graceMs: 1_000,
  silenceMs: 5_000,
  deadlockMs: 2_000,
};

/** Idle connections are probed each second, and an answer takes some time. */
export const SHORTEST_SILENCE_MS = 2_000;

/** The times of a group, as the addon takes them. */
export function timesOf(group: {
  readonly timeoutMs: number;
  readonly joinTimeoutMs?: number;
  readonly patience?: Patience;
}): Float64Array {
  const { timeoutMs, joinTimeoutMs = timeoutMs, patience = DEFAULT_PATIENCE } = group;
  const { noticeMs, graceMs, silenceMs, deadlockMs } = patience;
  return Float64Array.of(timeoutMs, joinTimeoutMs, noticeMs, graceMs, silenceMs, deadlockMs);
}

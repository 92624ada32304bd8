import type { CollectiveOptions } from '@acc/core';
import { inject } from 'vitest';

type Time = 'noticeMs' | 'graceMs' | 'silenceMs' | 'deadlockMs';
type Times = Pick<CollectiveOptions, Time>;

/** About one fifth of the defaults, where a test waits until the time is over. */
const SHORT: Required<Times> = { noticeMs: 200, graceMs: 200, silenceMs: 2_000, deadlockMs: 400 };

/**
 * The patience of a group in a test that waits for it to end: short for the named times, which no rank
 * may need to answer. `npm run test:release` waits for the defaults.
 */
export function patienceWith(...names: readonly Time[]): Times {
  if (inject('isRelease')) return {};
  return Object.fromEntries(names.map((name) => [name, SHORT[name]]));
}

const VARIABLES: Readonly<Record<Time, string>> = {
  noticeMs: 'ACC_COLLECTIVE_NOTICE_MS',
  graceMs: 'ACC_COLLECTIVE_GRACE_MS',
  silenceMs: 'ACC_COLLECTIVE_SILENCE_MS',
  deadlockMs: 'ACC_COLLECTIVE_DEADLOCK_MS',
};

/** {@link patienceWith} as variables, for a rank that creates an Accelerator. */
export function patienceVariables(...names: readonly Time[]): Record<string, string> {
  const given = Object.entries(patienceWith(...names)) as [Time, number][];
  return Object.fromEntries(given.map(([name, ms]) => [VARIABLES[name], String(ms)]));
}

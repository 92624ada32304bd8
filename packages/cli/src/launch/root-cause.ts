import { setTimeout as sleep } from 'node:timers/promises';
import type { RankExit } from './rank-process.js';

/** What the search for the culprit needs of a rank. */
export interface ObservedRank {
  readonly exited: Promise<RankExit>;
  /** The last lines of its stderr. */
  readonly stderrTail: readonly string[];
  finishStderr(): Promise<void>;
}

export interface Failure {
  readonly exit: RankExit;
  readonly rank: Pick<ObservedRank, 'stderrTail'>;
}

/** How long a failure that is only a lost peer's waits for that peer's own end to be seen. */
const WINDOW_MS = 1_000;
/** For the rest of a failed rank's stderr, when the launcher's own stderr is stuck. */
const STDERR_MS = 500;
/** What a rank's stderr holds when its failure is another's doing. */
const CONSEQUENCE = 'ACC_PEER_LOST';

/**
 * The failure that the others came from: the first, unless it is a lost peer's and another rank fails otherwise
 * soon after. A rank closes its connections before its process has ended, so the consequence may be seen first.
 *
 * @returns undefined when every rank ended with exit code 0.
 */
export function findRootCause(ranks: readonly ObservedRank[]): Promise<Failure | undefined> {
  const failures: Failure[] = [];
  return new Promise((resolve, reject) => {
    const decide = (): void => resolve(rootCause(failures));
    const observed = ranks.map(async (rank) => {
      const exit = await rank.exited;
      if (exit.exitCode === 0) return;
      const failure = { exit, rank };
      // Before anything is waited for: the list is in the order of the exits.
      failures.push(failure);
      await Promise.race([rank.finishStderr(), sleep(STDERR_MS, undefined, { ref: false })]);
      if (isConsequence(failure)) setTimeout(decide, WINDOW_MS).unref();
      else decide();
    });
    Promise.all(observed).then(decide, reject);
  });
}

/** Of failures in the order of the exits. */
export function rootCause(failures: readonly Failure[]): Failure | undefined {
  return failures.find((failure) => !isConsequence(failure)) ?? failures[0];
}

function isConsequence({ rank }: Failure): boolean {
  return rank.stderrTail.some((line) => line.includes(CONSEQUENCE));
}

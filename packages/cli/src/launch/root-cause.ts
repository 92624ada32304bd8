import { setTimeout as sleep } from 'node:timers/promises';
import type { ErrorReport } from '@acc/platform/uncaught';
import type { RankExit } from './rank-process.js';

/** The properties of a rank that the search for the root cause uses. */
export interface ObservedRank {
  readonly exited: Promise<RankExit>;
  /** The last lines of its stderr. */
  readonly stderrTail: readonly string[];
  /** The file with its stderr, if it is written to one. */
  readonly logPath?: string | undefined;
  /** The error that ended it, if it threw one. */
  readonly error?: ErrorReport | undefined;
  /** Whether it reports an error that ends it. */
  readonly isReporting?: boolean;
  finishStderr(): Promise<void>;
}

export interface FailedRank {
  readonly exit: RankExit;
  readonly rank: Pick<ObservedRank, 'stderrTail' | 'logPath' | 'error' | 'isReporting'>;
}

/** The rank that ended the job. */
export interface Failure extends FailedRank {
  /** The other ranks that had failed before the job was ended, also those that exited with code 0. */
  readonly others: readonly FailedRank[];
  /** The ranks that had exited with code 0 and no error before, if every failure is a consequence of that. */
  readonly leavers?: readonly RankExit[];
}

/**
 * How long to wait for other failures after one that reports a lost peer, and after an error that other
 * ranks may throw, too. In milliseconds.
 */
const WINDOW_MS = 1_000;
/**
 * How long to wait for the rest of a failed rank's stderr if the launcher's own stderr is stuck, in
 * milliseconds.
 */
const STDERR_MS = 500;
/** The code in a rank's stderr if another rank caused its failure. */
const CONSEQUENCE = 'ACC_PEER_LOST';
/** The header of an error by which a rank says that another one failed. */
const OF_OTHER_RANK = /^AccError \[\w+\]: On rank (\d+): /;

/**
 * Finds the failure that caused the others. It is the first one, unless the first one only lost a
 * peer and another rank fails soon after with another error. A rank closes its connections before
 * its process ends, so the consequence may be seen first. After a thrown error, the others get a moment to
 * throw theirs. A rank may exit with code 0 after an error: a listener for 'exit' can set the code.
 *
 * @returns undefined if every rank ended with exit code 0.
 */
export function findRootCause(ranks: readonly ObservedRank[]): Promise<Failure | undefined> {
  const failures: FailedRank[] = [];
  const exits: FailedRank[] = [];
  return new Promise((resolve, reject) => {
    const decide = (): void => resolve(rootCause(failures, exits));
    const observed = ranks.map(async (rank) => {
      const exit = await rank.exited;
      const ended = { exit, rank };
      if (exit.exitCode === 0) {
        if (failures.length === 0 || hasOwnError(ended)) exits.push(ended);
        return;
      }
      // Added before any await, so that the list is in the order of the exits.
      failures.push(ended);
      await Promise.race([rank.finishStderr(), sleep(STDERR_MS, undefined, { ref: false })]);
      if (rank.error || isConsequence(ended)) setTimeout(decide, WINDOW_MS).unref();
      else decide();
    });
    Promise.all(observed).then(decide, reject);
  });
}

/**
 * The root cause among failures in the order of the exits.
 *
 * @param exits Those with code 0: by an error of their own, or before the first failure.
 */
export function rootCause(
  failures: readonly FailedRank[],
  exits: readonly FailedRank[] = [],
): Failure | undefined {
  if (failures.length === 0) return undefined;
  const failed = [...failures, ...exits.filter(hasOwnError)];
  const first = failed.find((failure) => !isConsequence(failure)) ?? failed[0]!;
  const root = failed.find((failure) => tellsOf(first, failure)) ?? first;
  const leavers = isConsequence(root) ? exits.map(({ exit }) => exit) : [];
  return { ...root, others: failed.filter((failure) => failure !== root), leavers };
}

/** Whether an error of its own ended the rank. */
function hasOwnError(failed: Pick<FailedRank, 'rank'>): boolean {
  return failed.rank.error !== undefined && !isConsequence(failed);
}

/** Whether the error of a rank is that of another one, which failed by it. */
export function tellsOf({ rank }: Pick<FailedRank, 'rank'>, other: FailedRank): boolean {
  const told = OF_OTHER_RANK.exec(rank.error?.text ?? '')?.[1];
  return told !== undefined && Number(told) === other.exit.rank && other.rank.error !== undefined;
}

/** Whether a rank only failed because another one did. */
export function isConsequence({ rank }: Pick<FailedRank, 'rank'>): boolean {
  if (rank.error) return rank.error.text.includes(CONSEQUENCE);
  return rank.stderrTail.some((line) => line.includes(CONSEQUENCE));
}

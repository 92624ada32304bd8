import { AccError, isAccError, type Collective } from '@acc/contract';
import { describeLocation, type Location } from '../location.js';
import type { StartedSave } from './save.js';

/**
 * The time that rank 0 waits for files of other hosts to become visible, after all ranks have
 * reported that theirs are written.
 */
const VISIBLE_MS = 60_000;

/** The failure of a rank's writing, as it is sent to the others. */
interface Problem {
  readonly reason: string;
  /** The next step, or empty. */
  readonly help: string;
}

/** The failure of the commit on rank 0, as it is sent to the others. */
interface Failure extends Problem {
  /** The checkpoint may be complete. */
  readonly isInDoubt: boolean;
}

/**
 * Waits until a save is complete or has failed. After a failure all ranks throw the same error, and
 * the files of the save are deleted unless the checkpoint may be complete. Every rank calls it.
 *
 * @param onError What the caller does with the error, for its advice.
 * @throws AccError `ACC_CHECKPOINT_SAVE_FAILED`, whose details list the failure of each rank.
 */
export async function settleSave(
  save: StartedSave,
  collective: Collective,
  onError: 'throw' | 'warn',
): Promise<void> {
  const local = await save.written;
  const problems = problemsOf(
    collective.named('saveState()', () => collective.allGatherObject(problemOf(local))),
  );
  const timer = setTimeout(() => save.abandon(), VISIBLE_MS);
  if (problems.size > 0) save.abandon();
  const committed = await save.committed;
  clearTimeout(timer);
  const failure = collective.named('saveState()', () => collective.broadcastObject(failureOf(committed)));
  if (!failure) return;
  const where = describeLocation(save.location);
  const cause = local ?? committed;
  if (failure.isInDoubt) throw leftInDoubt(where, failure.reason, cause);
  await save.withdraw();
  throw nothingSaved(where, problems.size > 0 ? problems : new Map([[0, failure]]), { cause, onError });
}

/** The failure of one rank's part, for a program that does not settle the save. */
export function failureOn(rank: number, error: AccError, location: Location): AccError {
  const failure = failureOf(error)!;
  const where = describeLocation(location);
  if (failure.isInDoubt) return leftInDoubt(where, failure.reason, error);
  return nothingSaved(where, new Map([[rank, failure]]), { cause: error, onError: 'warn' });
}

function nothingSaved(
  where: string,
  problems: ReadonlyMap<number, Problem>,
  { cause, onError }: { readonly cause: AccError | undefined; readonly onError: 'throw' | 'warn' },
): AccError {
  const reasons = [...problems].map(([rank, { reason }]) => [rank, reason] as const);
  // The place is named once.
  const short = (reason: string) => reason.replaceAll(`${where}/`, '').replace(/\.$/, '');
  const ranksOf = new Map<string, number[]>();
  for (const [rank, reason] of reasons) {
    const ranks = ranksOf.get(short(reason)) ?? [];
    ranksOf.set(short(reason), [...ranks, rank]);
  }
  const listed = Array.from(
    ranksOf,
    ([reason, ranks]) => `rank${ranks.length > 1 ? 's' : ''} ${ranks.join(', ')}: ${reason}`,
  );
  const advice = [
    ...new Set([...problems.values()].map(({ help }) => help)),
    'Earlier checkpoints are unchanged.',
    onError === 'throw' && "With checkpoint: { onError: 'warn' }, training continues after a failed save.",
  ];
  return new AccError('ACC_CHECKPOINT_SAVE_FAILED', `Nothing was saved to ${where}: ${listed.join('; ')}.`, {
    help: advice.filter(Boolean).join(' '),
    details: { ranks: Object.fromEntries(reasons) },
    cause,
  });
}

function leftInDoubt(where: string, reason: string, cause: AccError | undefined): AccError {
  return new AccError(
    'ACC_CHECKPOINT_SAVE_FAILED',
    `${where} may or may not have been saved: rank 0: ${reason}`,
    {
      help: 'None of its files were deleted. loadState accepts it if it is complete, and the next save replaces it.',
      details: { ranks: { '0': reason } },
      cause,
    },
  );
}

function failureOf(error: AccError | undefined): Failure | null {
  const problem = problemOf(error);
  return problem && { ...problem, isInDoubt: isAccError(error, 'ACC_CHECKPOINT_IN_DOUBT') };
}

/** The first line of the message, which describes the failure. The lines after it are advice. */
function problemOf(error: AccError | undefined): Problem | null {
  return error ? { reason: error.message.split('\n')[0]!, help: error.help ?? '' } : null;
}

/** The failures by rank. */
function problemsOf(all: readonly (Problem | null)[]): ReadonlyMap<number, Problem> {
  return new Map(all.flatMap((problem, rank) => (problem ? [[rank, problem]] : [])));
}

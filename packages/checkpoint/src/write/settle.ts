import { AccError, isAccError, type Collective } from '@acc/contract';
import { describeLocation } from '../location.js';
import type { StartedSave } from './save.js';

/** For storages that show other hosts' files late, once all ranks have said that theirs are written. */
const VISIBLE_MS = 60_000;

/** What rank 0 has met, for the others. */
interface Failure {
  readonly reason: string;
  /** The checkpoint may be there. */
  readonly isInDoubt: boolean;
}

/**
 * Waits until a save is complete, or has failed on some rank: then all ranks get the same error, and nothing is left of it, unless
 * it may be complete. Every rank calls it.
 *
 * @throws AccError `ACC_CHECKPOINT_SAVE_FAILED`, whose details list what each rank has met.
 */
export async function settleSave(save: StartedSave, collective: Collective): Promise<void> {
  const own = await save.written;
  const problems = problemsOf(collective.allGatherObject(reasonOf(own)));
  const timer = setTimeout(() => save.abandon(), VISIBLE_MS);
  if (Object.keys(problems).length > 0) save.abandon();
  const committed = await save.committed;
  clearTimeout(timer);
  const failure = collective.broadcastObject(failureOf(committed));
  if (!failure) return;
  const where = describeLocation(save.location);
  const cause = own ?? committed;
  if (failure.isInDoubt) throw leftInDoubt(where, failure.reason, cause);
  await save.withdraw();
  throw nothingSaved(where, Object.keys(problems).length > 0 ? problems : { '0': failure.reason }, cause);
}

function nothingSaved(where: string, ranks: Record<string, string>, cause: AccError | undefined): AccError {
  const listed = Object.entries(ranks).map(([rank, reason]) => `rank ${rank}: ${reason}`);
  return new AccError('ACC_CHECKPOINT_SAVE_FAILED', `Nothing was saved to ${where}: ${listed.join('; ')}`, {
    help: "Earlier checkpoints are as they were. With checkpoint: { onError: 'warn' } training goes on without this one.",
    details: { ranks },
    cause,
  });
}

function leftInDoubt(where: string, reason: string, cause: AccError | undefined): AccError {
  return new AccError(
    'ACC_CHECKPOINT_SAVE_FAILED',
    `It is not sure that ${where} was saved: rank 0: ${reason}`,
    {
      help: 'Nothing of it was deleted: loadState takes it where it is complete, and the next save replaces it.',
      details: { ranks: { '0': reason } },
      cause,
    },
  );
}

function failureOf(error: AccError | undefined): Failure | null {
  if (!error) return null;
  return { reason: reasonOf(error)!, isInDoubt: isAccError(error, 'ACC_CHECKPOINT_IN_DOUBT') };
}

/** What happened, without what to do next. */
function reasonOf(error: AccError | undefined): string | null {
  return error ? error.message.split('\n')[0]! : null;
}

function problemsOf(messages: readonly (string | null)[]): Record<string, string> {
  return Object.fromEntries(messages.flatMap((message, rank) => (message === null ? [] : [[rank, message]])));
}

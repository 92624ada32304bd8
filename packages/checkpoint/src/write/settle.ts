import { AccError, isAccError, type Collective } from '@acc/contract';
import { describeLocation } from '../location.js';
import type { StartedSave } from './save.js';

/**
 * The time that rank 0 waits for files of other hosts to become visible, after all ranks have
 * reported that theirs are written.
 */
const VISIBLE_MS = 60_000;

/** The failure of the commit on rank 0, as it is sent to the others. */
interface Failure {
  readonly reason: string;
  /** The checkpoint may be complete. */
  readonly isInDoubt: boolean;
}

/**
 * Waits until a save is complete or has failed. After a failure all ranks throw the same error, and
 * the files of the save are deleted unless the checkpoint may be complete. Every rank calls it.
 *
 * @throws AccError `ACC_CHECKPOINT_SAVE_FAILED`, whose details list the failure of each rank.
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
    help: "Earlier checkpoints are unchanged. With checkpoint: { onError: 'warn' }, training continues after a failed save.",
    details: { ranks },
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
  if (!error) return null;
  return { reason: reasonOf(error)!, isInDoubt: isAccError(error, 'ACC_CHECKPOINT_IN_DOUBT') };
}

/** The first line of the message, which describes the failure. The lines after it are advice. */
function reasonOf(error: AccError | undefined): string | null {
  return error ? error.message.split('\n')[0]! : null;
}

function problemsOf(messages: readonly (string | null)[]): Record<string, string> {
  return Object.fromEntries(messages.flatMap((message, rank) => (message === null ? [] : [[rank, message]])));
}

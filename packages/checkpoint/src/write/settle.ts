import { AccError, type Collective } from '@acc/contract';
import { describeLocation } from '../location.js';
import type { StartedSave } from './save.js';

/** For storages that show other hosts' files late, once all ranks have said that theirs are written. */
const VISIBLE_MS = 60_000;

/**
 * Waits until a save is complete, or has failed on some rank: then all ranks get the same error, and nothing is left of it. Every
 * rank calls it.
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
  const failed = collective.broadcastObject(reasonOf(committed));
  if (failed === null) return;
  await save.withdraw();
  const first = Object.keys(problems)[0];
  const reasons = first === undefined ? { '0': failed } : problems;
  const listed = Object.entries(reasons).map(([rank, reason]) => `rank ${rank}: ${reason}`);
  throw new AccError(
    'ACC_CHECKPOINT_SAVE_FAILED',
    `Nothing was saved to ${describeLocation(save.location)}: ${listed.join('; ')}`,
    {
      help: "Earlier checkpoints are as they were. With checkpoint: { onError: 'warn' } training goes on without this one.",
      details: { ranks: reasons },
      cause: own ?? committed,
    },
  );
}

/** What happened, without what to do next. */
function reasonOf(error: AccError | undefined): string | null {
  return error ? error.message.split('\n')[0]! : null;
}

function problemsOf(messages: readonly (string | null)[]): Record<string, string> {
  return Object.fromEntries(messages.flatMap((message, rank) => (message === null ? [] : [[rank, message]])));
}

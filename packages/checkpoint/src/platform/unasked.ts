import { AccError } from '@acc/contract';
import type { StartedSave } from '../write/save.js';
import { failureOn } from '../write/settle.js';

export { requireWritten, sayFailed } from '../write/failed-record.js';

interface Unasked {
  readonly rank: number;
  /** Undefined while the save is written. */
  error?: AccError;
}

/** Saves in the background whose failure this process has to report, if nobody asks for it. */
const unasked = new Map<StartedSave, Unasked>();

/**
 * Reports a failure of this rank's part of a save at the end of the program, on stderr, unless
 * {@link wasAsked} is called before. A save that succeeds is not mentioned.
 */
export function reportAtEnd(save: StartedSave, rank: number): void {
  if (unasked.size === 0) {
    process.on('beforeExit', reportAndWithdraw);
    process.on('exit', report);
  }
  const entry: Unasked = { rank };
  unasked.set(save, entry);
  void (save.committed ?? save.written).then((error) => {
    if (error && error.details['failedRank'] === undefined) entry.error = error;
    else wasAsked(save);
    // All ranks have written their last file of this save, and that rank reports its failure.
    if (error?.details['failedRank'] !== undefined) void save.withdraw();
  });
}

/** The program has learnt how the save ended. */
export function wasAsked(save: StartedSave): void {
  if (!unasked.delete(save) || unasked.size > 0) return;
  process.off('beforeExit', reportAndWithdraw);
  process.off('exit', report);
}

/** No work is left, so every save has ended. */
function reportAndWithdraw(): void {
  const failed = [...unasked.keys()];
  report();
  // Rank 0 waits for the files of the others, also for those that say that a rank has failed.
  for (const save of failed) if (save.committed) void save.withdraw();
}

function report(): void {
  for (const [save, { rank, error }] of unasked) {
    const { code, message } = failureOn(rank, error ?? unfinished(), save.location);
    console.warn(`acc: ${code}: ${message}`);
    wasAsked(save);
  }
}

function unfinished(): AccError {
  return new AccError('ACC_STORAGE_FAILED', 'the program ended while it was saved', {
    help: 'Await waitForCheckpoint() or endTraining() at the end.',
  });
}

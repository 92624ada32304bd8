import { AccError } from '@acc/contract';
import { formatWords, type Words } from './agreement.js';

/** The wait of a rank, as the addon reports it. Ranks are those of the job. */
interface Wait {
  readonly rank: number;
  /** The ranks of the group; empty for all ranks of the job. */
  readonly group: readonly number[];
  /** The call's number in the group. 0 for a message. */
  readonly number: number;
  readonly words: Words;
  /** The other rank of a message. */
  readonly peer?: number;
  readonly isSend: boolean;
}

/** The largest number of ranks of a group that a message lists. */
const SHOWN = 8;

/**
 * Creates an `ACC_COLLECTIVE_DEADLOCK` error from the addon's error, whose message is a JSON array of
 * waits. Each is for the rank of the next one, and the last for the rank of the first.
 */
export function deadlock(error: AccError): AccError {
  const waits = JSON.parse(error.message) as Wait[];
  const lines = waits.map((wait, i) => `  ${tellWait(wait, waits[(i + 1) % waits.length]!.rank)}`);
  return new AccError(
    'ACC_COLLECTIVE_DEADLOCK',
    `Ranks wait for each other in different groups:\n${lines.join('\n')}.\nThe last calls in this group`,
    {
      help: 'Give all ranks of a mesh the same number of steps, and call the collectives of different groups in the same order on every rank.',
      details: { waits },
    },
  );
}

function tellWait({ rank, group, number, words, peer, isSend }: Wait, other: number): string {
  const more = group.length > SHOWN ? `, and ${group.length - SHOWN} more` : '';
  const ranks =
    group.length === 0 ? 'all ranks' : `the group of ranks ${group.slice(0, SHOWN).join(', ')}${more}`;
  if (peer !== undefined) {
    return `rank ${rank} waits in a ${isSend ? 'send to' : 'receive from'} rank ${peer} in ${ranks}`;
  }
  return `rank ${rank} waits in ${formatWords(words)}, call ${number} of ${ranks}, for rank ${other}`;
}

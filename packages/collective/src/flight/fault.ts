import { AccError } from '@acc/contract';
import type { LoggedCall, ProcessGroup, RankAccount } from '@acc/native';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatWords } from '../agreement.js';
import { placeOf, type Member } from '../rendezvous.js';
import type { FlightRecorder, RecordedCall } from './recorder.js';

/** What is known of one rank after a fault. */
interface RankStory {
  readonly rank: number;
  /** Its number in the job. */
  readonly worldRank?: number;
  readonly host?: string;
  readonly pid?: number;
  /** What it says it was doing; absent where nothing came from it. */
  readonly calls?: readonly RecordedCall[];
  /** Of the calls, the one that it is in. */
  readonly isWaiting?: boolean;
}

/** Lines of ranks that an error shows. */
const SHOWN = 8;

/** What a group knows when it has failed: asked of the other ranks once, and written to a file. */
export class Fault {
  #story: { readonly lines: string; readonly help: string } | undefined;

  constructor(
    private readonly group: ProcessGroup,
    private readonly recorder: FlightRecorder,
    private readonly members: readonly Member[] | undefined,
  ) {}

  /** `error`, with what every rank was doing, and where the file is. */
  explained(error: AccError, call: string): AccError {
    this.#story ??= this.#tell(error, call);
    const { lines, help } = this.#story;
    return new AccError(error.code, `${call}: ${error.message.replace(/\.$/, '')}.\n${lines}`, {
      help,
      cause: error,
    });
  }

  #tell(error: AccError, call: string): { lines: string; help: string } {
    const calls = this.recorder.calls();
    this.group.publish(JSON.stringify(calls));
    const accounts = this.group.accounts();
    const stories = accounts.map((account, rank): RankStory => {
      const member = this.members?.[rank];
      return {
        rank,
        ...(member && { worldRank: member.rank, host: member.host, pid: member.pid }),
        ...(rank === this.group.rank ? { calls, isWaiting: true } : callsOf(account)),
      };
    });
    const now = Date.now();
    const shown = stories.slice(0, SHOWN).map((story) => `  ${tellRank(story, now)}`);
    if (stories.length > SHOWN) shown.push(`  … and ${stories.length - SHOWN} more ranks`);
    const record = { at: new Date(now), rank: this.group.rank, code: error.code, call, ranks: stories };
    return { lines: shown.join('\n'), help: writeRecord(record) };
  }
}

function callsOf({ report, calls = [] }: RankAccount): Pick<RankStory, 'calls' | 'isWaiting'> {
  if (report !== undefined) return { calls: JSON.parse(report) as RecordedCall[], isWaiting: true };
  if (calls.length === 0) return {};
  const now = Date.now();
  const told = calls.map((one): RecordedCall => ({
    number: one.number,
    call: one.peer === undefined ? nameOf(one) : `${one.kind}(rank ${one.peer})`,
    at: now - one.startedMsAgo,
  }));
  return { calls: told, isWaiting: calls[calls.length - 1]!.isAwaited };
}

function nameOf({ number, kind, words }: LoggedCall): string {
  return number > 0 ? formatWords(words) : kind;
}

function tellRank({ rank, worldRank = rank, host, pid, calls, isWaiting }: RankStory, now: number): string {
  const number = worldRank === rank ? [] : [`world rank ${worldRank}`];
  const place = host === undefined ? number : [...number, placeOf({ host, pid: pid! })];
  const name = `rank ${rank}${place.length === 0 ? '' : ` (${place.join(', ')})`}`;
  const last = calls?.[calls.length - 1];
  if (!last) return `${name}: nothing came from it`;
  const callNumber = last.number > 0 ? ` ${last.number}` : '';
  const line = last.line ? ` ${last.isNear ? 'near' : 'at'} ${last.line}` : '';
  const seconds = ((now - last.at) / 1000).toFixed(1);
  return `${name}: ${isWaiting ? 'in' : 'not in a collective since'} call${callNumber}, ${last.call}${line}, begun ${seconds} s ago`;
}

/** The next step, with the path of the file. */
function writeRecord(record: object): string {
  const path = join(tmpdir(), `acc-flight-${process.pid}-${randomBytes(4).toString('hex')}.json`);
  try {
    writeFileSync(path, `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' });
    return `The last calls of all ranks, with their lines: ${path}`;
  } catch (error) {
    return `See what that rank was doing; a record of all last calls could not be written (${(error as Error).message}).`;
  }
}

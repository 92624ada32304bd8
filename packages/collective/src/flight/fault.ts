import { AccError, withoutHelp } from '@acc/contract';
import type { LoggedCall, RankAccount } from '@acc/native';
import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatWords } from '../agreement.js';
import type { GroupEngine } from '../group-engine.js';
import type { Member } from '../member.js';
import { placeOf } from '../rendezvous.js';
import { placeText, type FlightRecorder, type RecordedCall } from './recorder.js';

/** Facts known about one rank after a fault. */
interface RankStory {
  readonly rank: number;
  /** The rank in the job. */
  readonly worldRank?: number;
  readonly host?: string;
  readonly pid?: number;
  /** The last calls that the rank reported. Absent if it did not report. */
  readonly calls?: readonly RecordedCall[];
  /** Whether the rank is still in the last of its calls. */
  readonly isWaiting?: boolean;
}

/** The largest number of ranks that an error message lists. */
const SHOWN = 8;

/** The report of a failed group. It is collected from the other ranks once and written to a file. */
export class Fault {
  #story: { readonly lines: string; readonly help: string } | undefined;

  constructor(
    private readonly group: GroupEngine,
    private readonly recorder: FlightRecorder,
    private readonly members: readonly Member[] | undefined,
  ) {}

  /** Returns `error` with the last call of every rank and the path of the report. */
  explained(error: AccError, call: string): AccError {
    this.#story ??= this.#tell(error, call);
    const { lines, help } = this.#story;
    return new AccError(error.code, `${call}: ${withoutHelp(error.message).replace(/\.$/, '')}.\n${lines}`, {
      help: error.help === undefined ? help : `${error.help} ${help}`,
      cause: error,
      details: error.details,
    });
  }

  #tell(error: AccError, call: string): { lines: string; help: string } {
    this.recorder.locateLast();
    const calls = this.recorder.calls();
    this.group.publish('fault', JSON.stringify(calls));
    const accounts = this.group.accounts('fault');
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
  if (report) return { calls: JSON.parse(report) as RecordedCall[], isWaiting: true };
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
  if (!last) return `${name}: it did not report its calls`;
  const callNumber = last.number > 0 ? ` ${last.number}` : '';
  const line = last.line ? `${last.isNear ? ', ' : ' '}${placeText(last.line, last.isNear ?? false)}` : '';
  const seconds = ((now - last.at) / 1000).toFixed(1);
  return `${name}: ${isWaiting ? 'in' : 'not in a collective since'} call${callNumber}, ${last.call}${line}, begun ${seconds} s ago`;
}

/** Writes the report to a file. Returns the help text of the error, with the path. */
function writeRecord(record: object): string {
  const path = join(tmpdir(), `acc-flight-${process.pid}-${randomBytes(4).toString('hex')}.json`);
  try {
    writeFileSync(path, `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' });
    return `Read the last calls of all ranks, with their source lines, in ${path}`;
  } catch (error) {
    // The disk may be full after a part of it.
    rmSync(path, { force: true });
    return `Check what that rank was doing. The record of all last calls could not be written (${(error as Error).message}).`;
  }
}

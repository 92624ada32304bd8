import { AccError, poll } from '@acc/contract';
import type { Store } from '@acc/native';
import { createHash, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { EngineWish } from './engine-choice.js';
import type { JoinOptions } from './options.js';
import { allowedCores } from './share-cores.js';

/** A rank, as it tells the others. */
export interface Member {
  readonly rank: number;
  readonly host: string;
  readonly pid: number;
  /** That peers reach it by: the same for ranks of one host. */
  readonly address: string;
  /** Ranks of the job, as this one was told. */
  readonly size: number;
  readonly wish: EngineWish;
  /** The cores that it may run on, as its system lists them. */
  readonly cpus?: string;
  /** Tells processes with the same rank apart. */
  readonly id: string;
}

/** Tells this process from others; the same in each try of its to join a job. */
let processId: string | undefined;

const NOTICE_MS = 10_000;

/** The names of a job's keys: those of jobs with other tokens never meet. The token itself does not travel. */
export function keyPrefix(jobToken: string): string {
  return `acc/${createHash('sha256').update(`acc job ${jobToken}`).digest('hex').slice(0, 32)}`;
}

/**
 * Tells the others of this rank, and resolves with all of them, by rank.
 *
 * @throws AccError `ACC_RENDEZVOUS_FAILED` for ranks that don't come; `ACC_RENDEZVOUS_CONFLICT` for two processes of one
 * rank, or a rank that was told another number of ranks: on every rank; `ACC_JOB_TOKEN` where rank 0 has another token.
 */
export async function meet(
  store: Store,
  options: JoinOptions,
  { wish, address, timeoutMs }: { wish: EngineWish; address: string; timeoutMs: number },
): Promise<Member[]> {
  const { rank, size } = options;
  const deadline = Date.now() + timeoutMs;
  const meeting = new Meeting(store, options);
  await meeting.requireSameJob(deadline);
  const cpus = allowedCores();
  processId ??= randomUUID();
  const own = { rank, host: hostname(), pid: process.pid, address, size, wish, id: processId };
  meeting.introduce({ ...own, ...(cpus && { cpus }) });
  return meeting.allMembers(deadline, timeoutMs);
}

class Meeting {
  readonly #prefix: string;

  constructor(
    private readonly store: Store,
    private readonly options: JoinOptions,
  ) {
    this.#prefix = keyPrefix(options.jobToken);
  }

  /** Rank 0 says which job its store belongs to. */
  async requireSameJob(deadline: number): Promise<void> {
    const { rank, masterAddress, masterPort } = this.options;
    const key = 'acc/job';
    if (rank === 0) this.store.agree(key, this.#prefix);
    const found = await poll(() => this.store.find(key), { timeoutMs: deadline - Date.now() });
    if (found === this.#prefix || found === undefined) return;
    throw new AccError(
      'ACC_JOB_TOKEN',
      `rank ${rank}: the job at ${masterAddress}:${masterPort} has another token than this process.`,
      { help: 'Set ACC_JOB_TOKEN alike on every host, or another port for each job.' },
    );
  }

  introduce(own: Member): void {
    const first = JSON.parse(this.store.agree(this.#key(own.rank), JSON.stringify(own))) as Member;
    // The others may have read what an earlier try of this process said of itself.
    const isAgain = first.id === own.id && first.size === own.size;
    if (isAgain && JSON.stringify(first.wish) === JSON.stringify(own.wish)) return;
    if (first.id === own.id) {
      throw this.#conflict(
        `Rank ${own.rank} (${placeOf(own)}) tried to join before, with ${describeTry(first)}, and now with ${describeTry(own)}.`,
      );
    }
    throw this.#conflict(
      `Two processes are rank ${own.rank}: ${placeOf(first)} and ${placeOf(own)}; they were told of ${first.size} and ${own.size} ranks.`,
    );
  }

  async allMembers(deadline: number, timeoutMs: number): Promise<Member[]> {
    const { size, onWaiting } = this.options;
    const members: Member[] = [];
    const noticeAt = Date.now() + NOTICE_MS;
    let isNoticed = false;
    while (members.length < size) {
      const find = () => {
        this.#requireNoConflict();
        if (!isNoticed && Date.now() > noticeAt) {
          isNoticed = true;
          onWaiting?.(this.#whoIsMissing());
        }
        return this.store.find(this.#key(members.length));
      };
      const text = await poll(find, { timeoutMs: deadline - Date.now() });
      if (text === undefined) throw this.#timeout(timeoutMs);
      const member = JSON.parse(text) as Member;
      if (member.size !== size) {
        throw this.#conflict(
          `Rank ${member.rank} (${placeOf(member)}) was told of ${member.size} ranks, rank ${this.options.rank} of ${size}.`,
        );
      }
      members.push(member);
    }
    return members;
  }

  #requireNoConflict(): void {
    const conflict = this.store.find(this.#key('conflict'));
    if (conflict !== undefined) throw conflictError(conflict);
  }

  /** The others learn of it, too. */
  #conflict(text: string): AccError {
    return conflictError(this.store.agree(this.#key('conflict'), text));
  }

  #timeout(timeoutMs: number): AccError {
    return new AccError(
      'ACC_RENDEZVOUS_FAILED',
      `rank ${this.options.rank}: ${this.#whoIsMissing()} (time-out ${timeoutMs} ms).`,
      {
        help: 'Start the program on every host, with the same numbers of hosts and of processes, and see whether a host stopped with an error of its own.',
      },
    );
  }

  #whoIsMissing(): string {
    const all = Array.from({ length: this.options.size }, (_, rank) => ({
      rank,
      text: this.store.find(this.#key(rank)),
    }));
    const missing = all.filter(({ text }) => text === undefined).map(({ rank }) => rank);
    const here = all.flatMap(({ rank, text }) =>
      text === undefined ? [] : [`${rank} (${placeOf(JSON.parse(text) as Member)})`],
    );
    return `ranks ${missing.join(', ')} of ${this.options.size} have not come; here are ${here.join(', ')}`;
  }

  #key(name: number | string): string {
    return `${this.#prefix}/member/${name}`;
  }
}

/** A rank of a group as messages call it: in a sub-group with its number in the job, where that is another. */
export function rankName(rank: number, members?: readonly Pick<Member, 'rank'>[]): string {
  const worldRank = members?.[rank]?.rank ?? rank;
  return worldRank === rank ? `rank ${rank}` : `rank ${rank} (world rank ${worldRank})`;
}

export function placeOf({ host, pid }: Pick<Member, 'host' | 'pid'>): string {
  return `process ${pid} on ${host}`;
}

function conflictError(text: string): AccError {
  return new AccError('ACC_RENDEZVOUS_CONFLICT', text, {
    help: 'On every host give the same --nnodes and -n, and each host a --node-rank of its own.',
  });
}

function describeTry({ size, wish }: Member): string {
  return `${size} ranks and engine '${wish.choice}'`;
}

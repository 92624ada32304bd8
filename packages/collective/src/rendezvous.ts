import { AccError, poll } from '@acc/contract';
import type { Store } from '@acc/native';
import { createHash, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { EngineWish } from './engine-choice.js';
import type { Member } from './member.js';
import type { JoinOptions } from './options.js';
import { allowedCores } from './share-cores.js';

/** Identifies this process. It stays the same when the process tries to join again. */
let processId: string | undefined;

const NOTICE_MS = 10_000;

/**
 * The prefix of a job's keys in the store, so jobs with different tokens never read each other's
 * keys. It is a hash: the token itself is not sent.
 */
export function keyPrefix(jobToken: string): string {
  return `acc/${createHash('sha256').update(`acc job ${jobToken}`).digest('hex').slice(0, 32)}`;
}

/**
 * Announces this rank to the others. Resolves with all ranks, by rank.
 *
 * @throws AccError `ACC_RENDEZVOUS_FAILED` if ranks are missing after the time-out.
 * `ACC_RENDEZVOUS_CONFLICT`, on every rank, if two processes claim one rank or ranks were told
 * different numbers of ranks. `ACC_JOB_TOKEN` if rank 0 has another token.
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
  const local = { rank, host: hostname(), pid: process.pid, address, size, wish, id: processId };
  meeting.introduce({ ...local, ...(cpus && { cpus }) });
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

  /** Rank 0 publishes the job that its store belongs to. The others compare it with their own. */
  async requireSameJob(deadline: number): Promise<void> {
    const { rank, masterAddress, masterPort } = this.options;
    const key = 'acc/job';
    if (rank === 0) this.store.agree(key, this.#prefix);
    const found = await poll(() => this.store.find(key), { timeoutMs: deadline - Date.now() });
    if (found === this.#prefix || found === undefined) return;
    throw new AccError(
      'ACC_JOB_TOKEN',
      `rank ${rank}: the job at ${masterAddress}:${masterPort} has a different token than this process.`,
      { help: 'Set ACC_JOB_TOKEN to the same value on every host, or give each job its own port.' },
    );
  }

  introduce(local: Member): void {
    const first = JSON.parse(this.store.agree(this.#key(local.rank), JSON.stringify(local))) as Member;
    // Others may already have read the entry of this process's earlier attempt.
    const isAgain = first.id === local.id && first.size === local.size;
    if (isAgain && JSON.stringify(first.wish) === JSON.stringify(local.wish)) return;
    if (first.id === local.id) {
      throw this.#conflict(
        `Rank ${local.rank} (${placeOf(local)}) tried to join with ${describeTry(first)} before, and now tries with ${describeTry(local)}.`,
      );
    }
    throw this.#conflict(
      `Two processes claim rank ${local.rank}: ${placeOf(first)}, in a job of ${first.size} ranks, and ${placeOf(local)}, in a job of ${local.size} ranks.`,
    );
  }

  async allMembers(deadline: number, timeoutMs: number): Promise<Member[]> {
    const { size, onWaiting } = this.options;
    const members: Member[] = [];
    const noticeAt = Date.now() + NOTICE_MS;
    let isNoticed = false;
    const find = () => {
      this.#requireNoConflict();
      if (!isNoticed && Date.now() > noticeAt) {
        isNoticed = true;
        onWaiting?.(this.#whoIsMissing());
      }
      while (members.length < size) {
        const text = this.store.find(this.#key(members.length));
        if (text === undefined) return undefined;
        members.push(this.#memberOf(text));
      }
      return members;
    };
    // One wait for all, so that its pauses grow: rank 0 ends connections that ask much more often.
    const found = await poll(find, { timeoutMs: deadline - Date.now() });
    if (!found) throw this.#timeout(timeoutMs);
    return found;
  }

  #memberOf(text: string): Member {
    const { rank, size } = this.options;
    const member = JSON.parse(text) as Member;
    if (member.size === size) return member;
    throw this.#conflict(
      `Rank ${member.rank} (${placeOf(member)}) was started in a job of ${member.size} ranks, but rank ${rank} in a job of ${size}.`,
    );
  }

  #requireNoConflict(): void {
    const conflict = this.store.find(this.#key('conflict'));
    if (conflict !== undefined) throw conflictError(conflict);
  }

  /** Publishes the conflict, so the other ranks fail with it, too. */
  #conflict(text: string): AccError {
    return conflictError(this.store.agree(this.#key('conflict'), text));
  }

  #timeout(timeoutMs: number): AccError {
    return new AccError(
      'ACC_RENDEZVOUS_FAILED',
      `rank ${this.options.rank}: ${this.#whoIsMissing()} (time-out ${timeoutMs} ms).`,
      {
        help: 'Start the program on every host, with the same number of hosts and processes. Check whether a host stopped with an error.',
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
    return `ranks ${missing.join(', ')} of ${this.options.size} have not joined; joined: ${here.join(', ')}`;
  }

  #key(name: number | string): string {
    return `${this.#prefix}/member/${name}`;
  }
}

export function placeOf({ host, pid }: Pick<Member, 'host' | 'pid'>): string {
  return `process ${pid} on ${host}`;
}

function conflictError(text: string): AccError {
  return new AccError('ACC_RENDEZVOUS_CONFLICT', text, {
    help: 'Give every host the same --nnodes and -n, and a different --node-rank.',
  });
}

function describeTry({ size, wish }: Member): string {
  return `${size} ranks and engine '${wish.choice}'`;
}

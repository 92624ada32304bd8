import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';
import type { TestNetwork } from '@acc/testkit';
import type { ElasticKind } from './ranks/elastic.js';
import { launch, type Running } from './run-on-hosts.js';

/** A training in `ranks/elastic.ts`. */
export interface ElasticProgram {
  readonly kind: ElasticKind;
  /** Ranks of each host. Default 1. */
  readonly ranks?: number;
  /** The size of `/dev/shm` of each host, in bytes. Default: that of this host, which all share. */
  readonly memoryBytes?: number;
}

/** Saves checkpoints, in a folder that every host reaches. */
export const SAVING: ElasticProgram = { kind: 'saving' };
const PATIENCE = { timeout: 240_000, interval: 20 };

/** A rank that reported its place. */
export interface RankPlace {
  readonly round: number;
  readonly rank: number;
  readonly size: number;
  readonly pid: number;
  readonly host: string;
}

export interface Advance {
  /** A round that has ended. */
  readonly after: number;
  readonly size: number;
  readonly steps: number;
  readonly wanted: number;
}

/** The program and its arguments. */
const argumentsOf = (program: ElasticProgram, folder: string, steps: number): string[] => [
  ...['-n', String(program.ranks ?? 1)],
  fileURLToPath(new URL('./ranks/elastic.ts', import.meta.url)),
  program.kind,
  join(folder, 'permitted'),
  String(steps),
];

/** The command that starts a program with a `/dev/shm` of its own. */
const inMemoryOf = (bytes: number): string[] => {
  const mount = `mount -t tmpfs -o size=${bytes} tmpfs /dev/shm && exec "$@"`;
  return ['unshare', '--mount', 'sh', '-c', mount, 'sh'];
};

/** An elastic job on the hosts of a network: one agent on each, of which at most two run ranks. */
export class ElasticJob {
  /** By host. */
  readonly agents: Running[] = [];
  readonly #ended: Running[] = [];
  readonly #permitted: string;
  #permittedStep = 0;

  /** The same program on one rank of the first host. */
  static alone(network: TestNetwork, folder: string, steps: number, program = SAVING): Running {
    mkdirSync(folder);
    const permitted = join(folder, 'permitted');
    writeFileSync(permitted, String(steps));
    return launch(network, network.hosts[0]!, argumentsOf({ ...program, ranks: 1 }, folder, steps));
  }

  constructor(
    readonly network: TestNetwork,
    readonly folder: string,
    readonly steps: number,
    readonly program: ElasticProgram = SAVING,
  ) {
    mkdirSync(folder);
    this.#permitted = join(folder, 'permitted');
    this.permit(0);
    this.network.hosts.forEach((_, host) => this.start(host));
  }

  /** Starts an agent on a host, in place of an earlier one. */
  start(host: number): Running {
    const earlier = this.agents[host];
    if (earlier) this.#ended.push(earlier);
    const elastic = ['--nnodes', '1:2', '--rdzv-endpoint', `${this.network.hosts[0]!.address}:29400`];
    const options = ['--max-restarts', '100', '--last-call', '0', '--no-prefix'];
    const env = { ACC_JOB_TOKEN: 'elastic' };
    const { memoryBytes } = this.program;
    const agent = launch(
      this.network,
      this.network.hosts[host]!,
      [...elastic, ...options, ...argumentsOf(this.program, this.folder, this.steps)],
      env,
      memoryBytes === undefined ? [] : inMemoryOf(memoryBytes),
    );
    this.agents[host] = agent;
    return agent;
  }

  /** Lets the ranks take steps up to this one. */
  permit(step: number): void {
    this.#permittedStep = step;
    writeFileSync(this.#permitted, String(step));
  }

  /** `/dev/shm` as a host sees it. */
  memoryOf(host: number): string {
    return `/proc/${this.agents[host]!.child.pid}/root/dev/shm`;
  }

  /** Waits until every agent that was started has reached the first host. */
  async allJoined(): Promise<void> {
    const joined = (): number => this.agents[0]!.output().match(/^acc: host\d (joins|waits)/gm)?.length ?? 0;
    const started = this.#ended.length + this.agents.length;
    await vi.waitUntil(() => joined() === started, PATIENCE);
  }

  /** Every agent that was started. */
  get started(): readonly Running[] {
    return [...this.#ended, ...this.agents];
  }

  output(): string {
    return this.started.map((agent) => agent.output()).join('\n');
  }

  /** The places of all ranks that started, and the newest round. */
  ranks(): RankPlace[] {
    const lines = this.output().matchAll(/^at \d+ round (\d+) rank (\d+)\/(\d+) pid (\d+) on (\S+)$/gm);
    return [...lines].map(([, round, rank, size, pid, host]) => ({
      round: Number(round),
      rank: Number(rank),
      size: Number(size),
      pid: Number(pid),
      host: host!,
    }));
  }

  /**
   * Waits until a round after `round` has `size` ranks, permits it `steps` more steps, and waits
   * until it has taken `wanted` of them. Steps are permitted only once the round is there: an
   * earlier round could take them before it ends.
   */
  async advance({ after, size, steps, wanted }: Advance): Promise<RankPlace[]> {
    const formed = await this.#wait(`round with ${size} ranks after round ${after}`, () =>
      this.#newestRound(after, size),
    );
    const { round } = formed[0]!;
    const from = this.#permitMore(steps);
    await this.#wait(`step ${from + wanted} from round ${round} on`, () =>
      this.reported().some((step) => step.round >= round && step.at >= from + wanted),
    );
    return this.#wait(`round with ${size} ranks`, () => this.#newestRound(round - 1, size));
  }

  /** The ranks of the newest round after `after`, if all of them have started and they are `size`. */
  #newestRound(after: number, size: number): RankPlace[] | false {
    const ranks = this.ranks();
    const newest = Math.max(...ranks.map(({ round }) => round));
    const its = ranks.filter(({ round }) => round === newest);
    return newest > after && its.length === size && its.every((rank) => rank.size === size) && its;
  }

  /** Lets the ranks take more steps after the newest one that a rank reported, which is returned. */
  #permitMore(steps: number): number {
    const starts = this.output().matchAll(/^at (\d+) /gm);
    const reported = [...this.reported().map(({ at }) => at), ...Array.from(starts, ([, at]) => Number(at))];
    const newest = Math.max(0, ...reported);
    this.permit(Math.max(this.#permittedStep, newest + steps));
    return newest;
  }

  /** The steps that ranks reported, with their rounds. */
  reported(): { readonly at: number; readonly round: number }[] {
    const lines = this.output().matchAll(/^step (\d+) round (\d+) rank /gm);
    return Array.from(lines, ([, at, round]) => ({ at: Number(at), round: Number(round) }));
  }

  async #wait<T>(what: string, find: () => T | false): Promise<T> {
    const ask = (): T | false => {
      if (this.agents[0]!.child.exitCode !== null) throw new Error(`the first host ended:\n${this.output()}`);
      return find();
    };
    return (await vi.waitUntil(ask, PATIENCE).catch((error: unknown) => {
      throw new Error(`no ${what}:\n${this.output()}`, { cause: error });
    })) as T;
  }
}

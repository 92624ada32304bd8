import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';
import type { TestNetwork } from '@acc/testkit';
import { launch, type Running } from './run-on-hosts.js';

const program = fileURLToPath(new URL('./ranks/elastic.ts', import.meta.url));
const PATIENCE = { timeout: 120_000, interval: 20 };

/** A rank that reported its place. */
export interface RankPlace {
  readonly round: number;
  readonly rank: number;
  readonly size: number;
  readonly pid: number;
  readonly host: string;
}

/** An elastic job on the hosts of a network: one agent on each, of which at most two run ranks. */
export class ElasticJob {
  /** By host. */
  readonly agents: Running[] = [];
  readonly #ended: Running[] = [];
  readonly #permitted: string;
  #permittedStep = 0;

  /** The same program on one rank of the first host. */
  static alone(network: TestNetwork, folder: string, steps: number): Running {
    mkdirSync(folder);
    const permitted = join(folder, 'permitted');
    writeFileSync(permitted, String(steps));
    return launch(network, network.hosts[0]!, [
      program,
      join(folder, 'checkpoints'),
      permitted,
      String(steps),
    ]);
  }

  constructor(
    readonly network: TestNetwork,
    readonly folder: string,
    readonly steps: number,
  ) {
    mkdirSync(folder);
    this.#permitted = join(folder, 'permitted');
    this.permit(0);
    this.network.hosts.forEach((_, host) => this.start(host));
  }

  /** The program's arguments. */
  get #args(): string[] {
    return [join(this.folder, 'checkpoints'), this.#permitted, String(this.steps)];
  }

  /** Starts an agent on a host, in place of an earlier one. */
  start(host: number, extra: readonly string[] = []): Running {
    const earlier = this.agents[host];
    if (earlier) this.#ended.push(earlier);
    const elastic = ['--nnodes', '1:2', '--rdzv-endpoint', `${this.network.hosts[0]!.address}:29400`];
    const options = ['--max-restarts', '100', '--last-call', '0', '--no-prefix', ...extra];
    const env = { ACC_JOB_TOKEN: 'elastic' };
    const agent = launch(
      this.network,
      this.network.hosts[host]!,
      [...elastic, ...options, program, ...this.#args],
      env,
    );
    this.agents[host] = agent;
    return agent;
  }

  /** Lets the ranks take steps up to this one. */
  permit(step: number): void {
    this.#permittedStep = step;
    writeFileSync(this.#permitted, String(step));
  }

  /**
   * Lets the ranks take more steps after the newest one that a rank reported, which is returned.
   * However fast they are, they get no further before the next call.
   */
  permitMore(steps: number): number {
    const newest = Math.max(0, ...[...this.output().matchAll(/^step (\d+) /gm)].map(([, at]) => Number(at)));
    this.permit(Math.max(this.#permittedStep, newest + steps));
    return newest;
  }

  /** Waits until every agent that was started has reached the first host. */
  async allJoined(): Promise<void> {
    const joined = (): number => this.agents[0]!.output().match(/^acc: host\d (joins|waits)/gm)?.length ?? 0;
    const started = this.#ended.length + this.agents.length;
    await vi.waitUntil(() => joined() === started, PATIENCE);
  }

  output(): string {
    return [...this.#ended, ...this.agents].map((agent) => agent.output()).join('\n');
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

  /** Waits until a round after `round`, with `size` ranks, has taken a step from `step` on. */
  async reached(step: number, round: number, size: number): Promise<RankPlace[]> {
    const isThere = (): boolean => {
      if (this.agents[0]!.child.exitCode !== null) throw new Error(`the first host ended:\n${this.output()}`);
      const lines = this.output().matchAll(/^step (\d+) round (\d+) rank \d+\/(\d+)$/gm);
      return [...lines].some(
        ([, at, of, ranks]) => Number(at) >= step && Number(of) > round && Number(ranks) === size,
      );
    };
    await vi.waitUntil(isThere, PATIENCE).catch((error: unknown) => {
      throw new Error(`no step ${step} of ${size} ranks after round ${round}:\n${this.output()}`, {
        cause: error,
      });
    });
    const all = this.ranks().filter((rank) => rank.size === size && rank.round > round);
    const newest = Math.max(...all.map((rank) => rank.round));
    return all.filter((rank) => rank.round === newest);
  }
}

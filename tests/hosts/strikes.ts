import { expect } from 'vitest';
import type { ElasticJob, RankPlace } from './elastic-job.js';

/** A rank dies; a host, whose place a third one takes; or two hosts, after which the first is alone. */
export type StrikeKind = 'rank' | 'host' | 'alone';

export interface Strike {
  readonly kind: StrikeKind;
  readonly round: number;
  readonly random: () => number;
  /** The steps that a round on one host may take, and how many of them are waited for. */
  readonly alone: { readonly steps: number; readonly wanted: () => number };
}

/** Kills something that leaves a rank alive, and starts what takes its place. */
export async function strikeAt(
  job: ElasticJob,
  ranks: readonly RankPlace[],
  { kind, round, random, alone }: Strike,
): Promise<void> {
  if (kind === 'rank') {
    process.kill(ranks[Math.floor(random() * ranks.length)]!.pid, 'SIGKILL');
    return;
  }
  const killed = kind === 'alone' ? [1, 2] : [secondHost(ranks)];
  await job.allJoined();
  for (const host of killed) process.kill(-job.agents[host]!.child.pid!, 'SIGKILL');
  await Promise.all(killed.map((host) => job.agents[host]!.ended));
  if (kind === 'alone') {
    await job.advance({ after: round, size: 1, steps: alone.steps, wanted: alone.wanted() });
  }
  for (const host of killed) job.start(host);
}

/** The number of the host that rank 1 of two ranks is on. */
export function secondHost(ranks: readonly RankPlace[]): number {
  return Number(/\d+$/.exec(ranks.find(({ rank }) => rank === 1)!.host)![0]);
}

/** The weights that all ranks printed, which are the same. */
export function weightsIn(output: string): string[] {
  const found = [...new Set(Array.from(output.matchAll(/^weights (\S+)$/gm), ([, hash]) => hash!))];
  expect(found, output).toHaveLength(1);
  return found;
}

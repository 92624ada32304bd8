import { beforeAll, describe, expect, it } from 'vitest';
import { buildMpi } from '@acc/native';
import { TestNetwork } from '@acc/testkit';
import { mpirun } from './mpirun.js';
import { startRanks } from './run-on-hosts.js';

const script = new URL('./ranks/subgroup-faults.ts', import.meta.url);

interface Outcome {
  readonly code?: string;
  readonly message?: string;
  readonly ms?: number;
  readonly value?: unknown;
}

beforeAll(() => {
  buildMpi();
});

/** What the ranks that are not victims report: two on each of two hosts, or four that mpirun starts. */
async function resultsOn<T>(engine: string, what: string, victim = -1, timeoutMs = 60_000): Promise<T[]> {
  const args = [engine, what, String(timeoutMs)];
  if (engine === 'mpi') {
    const { output, results } = await mpirun(script, { ranks: 4, args });
    console.log(output);
    return results as T[];
  }
  await using network = await TestNetwork.create({ hosts: 2 });
  const ranks = startRanks(network, 'subgroup-faults.ts', args, { ranksPerHost: 2 });
  const others = ranks.filter((_, rank) => rank !== victim);
  const ends = await Promise.all(others.map(({ ended }) => ended));
  for (const { output, code } of ends) console.log(code, output);
  return ends.map(({ result }) => result as T);
}

describe.each(['hierarchical', 'mpi'])('%s', (engine) => {
  it.each(['differ', 'kill:1', 'kill:2', 'wait:one-more', 'wait:message', 'wait:ring'])(
    '%s',
    async (what) => {
      await resultsOn(engine, what, what.startsWith('kill') ? Number(what.slice(5)) : -1);
    },
  );
  it('stop', async () => {
    await resultsOn(engine, 'stop:1', 1, 5000);
  });
});

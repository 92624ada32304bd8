import { beforeAll, describe, expect, it } from 'vitest';
import { buildMpi } from '@acc/native';
import { TestNetwork } from '@acc/testkit';
import { mpirun } from './mpirun.js';
import { patienceWith } from '../patience.js';
import { startRanks } from './run-on-hosts.js';

const script = new URL('./ranks/subgroup-faults.ts', import.meta.url);

interface Outcome {
  readonly code?: string;
  readonly message?: string;
  readonly ms?: number;
  readonly value?: unknown;
}

interface Found {
  readonly differ: { readonly faults: readonly Outcome[]; readonly after: number };
  readonly ring: { readonly fault: Outcome; readonly after: number };
  readonly oneMore: { readonly fault: Outcome };
  readonly kill: Lost;
  readonly stop: Lost;
}

interface Lost {
  readonly before: number;
  readonly ofGroup: Outcome;
  readonly ofAll: Outcome;
}

interface Scenes {
  readonly engine: string;
  /** The events, one after the other. */
  readonly what: readonly (keyof Found)[];
  readonly victim?: number;
  readonly timeoutMs?: number;
  readonly patience?: object;
}

/** The reports of four ranks: two on each of two hosts, or those that mpirun starts. */
async function resultsOf(scenes: Scenes): Promise<Found[]> {
  const { engine, what, victim, timeoutMs = 60_000, patience = {} } = scenes;
  const args = [engine, what.join(), String(timeoutMs), JSON.stringify(patience)];
  const isWatched = (_: unknown, rank: number) => rank !== victim;
  if (engine === 'mpi') {
    const { output, results } = await mpirun(script, { ranks: 4, args });
    const watched = Array.from({ length: 4 }, (_, rank) => results[rank] as Found).filter(isWatched);
    for (const result of watched) expect(result, output).toBeDefined();
    return watched;
  }
  await using network = await TestNetwork.create({ hosts: 2 });
  const ranks = startRanks(network, 'subgroup-faults.ts', args, { ranksPerHost: 2 });
  const ends = await Promise.all(ranks.filter(isWatched).map(({ ended }) => ended));
  return ends.map(({ output, result }) => {
    expect(result, output).toBeDefined();
    return result as Found;
  });
}

function expectFault({ code, message, ms }: Outcome, expected: string, text: RegExp): void {
  expect(code, message).toBe(expected);
  expect(message).toMatch(text);
  expect(ms).toBeLessThan(60_000);
}

/** The ranks of the sub-group get its error, then all ranks that of the job. */
function expectLost(ranks: readonly Lost[], code: string, ofGroup: RegExp, ofAll: RegExp): void {
  expect(ranks.map(({ before }) => before)).toEqual([3, 3, 1]);
  for (const each of ranks.slice(0, 2)) expectFault(each.ofGroup, code, ofGroup);
  // No rank of its group was lost.
  expect(ranks[2]!.ofGroup).toEqual({ value: 1 });
  for (const each of ranks) expectFault(each.ofAll, code, ofAll);
}

async function expectEndedByMpirun(): Promise<void> {
  const { code, output } = await mpirun(script, { ranks: 4, args: ['mpi', 'kill', '60000', '{}'] });
  expect(code, output).not.toBe(0);
  expect(output).toMatch(/rank 2 with PID .* exited on signal 9/);
}

beforeAll(() => {
  buildMpi();
});

describe.each(['hierarchical', 'mpi'])('in sub-groups of four ranks over %s', (engine) => {
  it.concurrent('different calls, and calls that wait for each other, are told on every rank', async () => {
    const patience = patienceWith('noticeMs', 'deadlockMs');
    const ranks = await resultsOf({ engine, what: ['differ', 'ring'], patience });
    for (const { differ, ring } of ranks) {
      expect([differ.after, ring.after]).toEqual([4, 4]);
      expectFault(
        ring.fault,
        'ACC_COLLECTIVE_DEADLOCK',
        /rank 0 waits in .* group of ranks 0, 1, for rank 1/,
      );
      expect(ring.fault.message).toMatch(/rank 3 waits in .* group of ranks 2, 3, for rank 2/);
    }
    for (const { differ } of ranks.slice(0, 3)) {
      ['allReduce\\(float32\\[6\\]', 'allReduce\\(int32\\[4\\]', 'barrier\\(\\)'].forEach((call, i) => {
        const line = new RegExp(`^ {2}rank 2 \\(world rank 1\\): ${call}`, 'm');
        expectFault(differ.faults[i]!, 'ACC_COLLECTIVE_MISMATCH', line);
        expect(differ.faults[i]!.message).toMatch(/^ {2}rank 0 \(world rank 2\): allReduce\(float32\[4\]/m);
      });
    }
    expect(ranks[3]!.differ.faults).toEqual(Array(3).fill({ value: 'no member' }));
  });

  it.concurrent('one call more than the others is told on every rank', async () => {
    const patience = patienceWith('noticeMs', 'deadlockMs');
    for (const { oneMore } of await resultsOf({ engine, what: ['oneMore'], patience })) {
      expectFault(oneMore.fault, 'ACC_COLLECTIVE_DEADLOCK', /rank 1 waits in .* ranks 1, 3, for rank 3/);
      expect(oneMore.fault.message).toMatch(/rank 3 waits in barrier\(\), call \d+ of all ranks, for rank 1/);
    }
  });

  it.concurrent('a stopped rank is named', async () => {
    const found = await resultsOf({ engine, what: ['stop'], victim: 1, timeoutMs: 12_000 });
    const ofGroup = /rank 2 \(world rank 1\) did not come/;
    const lost = found.map(({ stop }) => stop);
    expectLost(lost, 'ACC_COLLECTIVE_TIMEOUT', ofGroup, /ranks? .*\b1\b.* did not come/);
  });

  it.concurrent('a killed rank is named', async () => {
    // mpirun ends the others before they can report.
    if (engine === 'mpi') return expectEndedByMpirun();
    const patience = patienceWith('graceMs');
    const found = await resultsOf({ engine, what: ['kill'], victim: 2, patience });
    const lost = found.map(({ kill }) => kill);
    expectLost(lost, 'ACC_PEER_LOST', /rank 0 \(world rank 2\) has died/, /rank 2 has died/);
  });
});

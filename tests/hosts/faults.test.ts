import { describe, expect, it } from 'vitest';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { TestNetwork } from '@acc/testkit';
import { patienceWith } from '../patience.js';
import { startRanks, written, type Running } from './run-on-hosts.js';

interface Fault {
  readonly code: string;
  readonly message: string;
  readonly ms: number;
}

interface Situation {
  readonly network: TestNetwork;
  readonly ranks: readonly Running[];
}

interface Job {
  readonly hosts: number;
  readonly engine?: 'gloo' | 'hierarchical';
  readonly ranksPerHost?: number;
  readonly timeoutMs?: number;
  readonly patience?: object;
  /** Ranks that can no longer report. */
  readonly victims: readonly number[];
}

/** Ranks run all-reduce until `strike` disturbs them. Returns the errors of the other ranks. */
async function faultsAfter(
  job: Job,
  strike: (situation: Situation) => void | Promise<void>,
): Promise<Fault[]> {
  const { hosts, engine = 'gloo', ranksPerHost = 1, timeoutMs = 60_000, patience = {}, victims } = job;
  await using network = await TestNetwork.create({ hosts });
  const args = [engine, String(timeoutMs), '100000', JSON.stringify(patience)];
  const ranks = startRanks(network, 'endless.ts', args, { ranksPerHost });
  await Promise.all(ranks.map((rank) => written(rank, 'under way')));
  await strike({ network, ranks });
  const others = ranks.filter((_, rank) => !victims.includes(rank));
  const ends = await Promise.all(others.map(({ ended }) => ended));
  return ends.map(({ result, output }) => {
    expect(result, output).toBeDefined();
    return result as Fault;
  });
}

const OF_DEATH = patienceWith('graceMs');
const OF_CUT = patienceWith('silenceMs');

function kill(rank: Running, signal: NodeJS.Signals): void {
  process.kill(-rank.child.pid!, signal);
}

const NAME = "allReduce\\(float32\\[100000\\], 'sum'\\), call \\d+: ";

function expectLost(faults: readonly Fault[], what: RegExp): void {
  expect(faults.length).toBeGreaterThan(0);
  for (const { code, message, ms } of faults) {
    expect(code, message).toBe('ACC_PEER_LOST');
    expect(message).toMatch(new RegExp(`^${NAME}${what.source}`));
    expect(ms).toBeLessThan(60_000);
  }
}

describe.each([0, 2])('rank %i of 3 is lost', (victim) => {
  const job = { hosts: 3, victims: [victim] };

  it('by a cut cable', async () => {
    const cut = { ...job, patience: OF_CUT };
    const faults = await faultsAfter(cut, ({ network }) => network.cut(network.hosts[victim]!));
    expectLost(faults, new RegExp(`rank ${victim} does not answer`));
  });

  it('by SIGKILL', async () => {
    const dies = { ...job, patience: OF_DEATH };
    const faults = await faultsAfter(dies, ({ ranks }) => kill(ranks[victim]!, 'SIGKILL'));
    expectLost(faults, new RegExp(`rank ${victim} has died`));
    for (const { message } of faults) {
      expect(message).toMatch(new RegExp(`rank ${victim} \\(process \\d+ on host${victim}\\)`));
    }
  });

  it('by SIGSTOP', async () => {
    const faults = await faultsAfter({ ...job, timeoutMs: 5_000 }, ({ ranks }) =>
      kill(ranks[victim]!, 'SIGSTOP'),
    );
    for (const { code, message } of faults) {
      expect(code, message).toBe('ACC_COLLECTIVE_TIMEOUT');
      expect(message).toMatch(new RegExp(`${NAME}rank ${victim} did not come`));
      expect(message).toMatch(new RegExp(`rank ${victim} \\(process \\d+ on host${victim}\\)`));
    }
  });
});

// Rank 0 runs the store, and ranks 0 and 2 communicate for their hosts.
describe('two ranks on each of two hosts, with shared memory within each', () => {
  const job = { hosts: 2, engine: 'hierarchical', ranksPerHost: 2 } as const;

  it.each([0, 2, 3])('rank %i is killed', async (victim) => {
    const dies = { ...job, patience: OF_DEATH, victims: [victim] };
    const faults = await faultsAfter(dies, ({ ranks }) => kill(ranks[victim]!, 'SIGKILL'));
    expectLost(faults, new RegExp(`rank ${victim} has died`));
  });

  it.each([0, 3])('rank %i is stopped', async (victim) => {
    const faults = await faultsAfter({ ...job, timeoutMs: 5_000, victims: [victim] }, ({ ranks }) =>
      kill(ranks[victim]!, 'SIGSTOP'),
    );
    for (const { code, message } of faults) {
      expect(code, message).toBe('ACC_COLLECTIVE_TIMEOUT');
      expect(message).toMatch(new RegExp(`${NAME}rank ${victim} did not come`));
    }
  });

  it('a host is cut off', async () => {
    const cut = { ...job, patience: OF_CUT, victims: [] };
    const faults = await faultsAfter(cut, ({ network }) => network.cut(network.hosts[1]!));
    expectLost(faults, /rank \d does not answer/);
  });
});

it('a cable that is repaired in time causes no error', async () => {
  await using network = await TestNetwork.create({ hosts: 2 });
  const ranks = startRanks(network, 'endless.ts', ['gloo', '60000', '1000']);
  await Promise.all(ranks.map((rank) => written(rank, 'under way')));
  await network.cut(network.hosts[1]!);
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  await network.mend(network.hosts[1]!);
  await Promise.all(ranks.map((rank) => written(rank, 'far on')));
  expect(ranks.map(({ output }) => /^::result::.*$/m.exec(output())?.[0])).toEqual(
    ranks.map(() => undefined),
  );
});

it('the last calls of every rank are in a file', async () => {
  const job = { hosts: 2, patience: OF_DEATH, victims: [1] };
  const [fault] = await faultsAfter(job, ({ ranks }) => kill(ranks[1]!, 'SIGKILL'));
  const path = /\S+\.json$/.exec(fault!.message)![0];
  expect(existsSync(path)).toBe(true);
  const record = JSON.parse(readFileSync(path, 'utf8')) as {
    code: string;
    ranks: { host: string; calls?: { number: number; call: string; line: string }[] }[];
  };
  rmSync(path);
  expect(record.code).toBe('ACC_PEER_LOST');
  expect(record.ranks.map(({ host }) => host)).toEqual(['host0', 'host1']);
  const own = record.ranks[0]!.calls!;
  expect(own.length).toBeGreaterThan(20);
  expect(own.at(-1)).toMatchObject({ call: "allReduce(float32[100000], 'sum')" });
  expect(own.at(-1)!.line).toMatch(/endless\.ts:\d+:\d+$/);
});

it('after all ranks were killed, the next job uses the same port', async () => {
  await using network = await TestNetwork.create({ hosts: 2 });
  for (let job = 0; job < 2; job++) {
    const ranks = startRanks(network, 'endless.ts', ['gloo', '60000', '1000']);
    await Promise.all(ranks.map((rank) => written(rank, 'under way')));
    for (const rank of ranks) kill(rank, 'SIGKILL');
    const ends = await Promise.all(ranks.map(({ ended }) => ended));
    for (const { output, result } of ends) expect(result, output).toBeUndefined();
  }
});

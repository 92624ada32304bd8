import { describe, expect, it } from 'vitest';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { TestNetwork, type TestNetworkOptions } from '@acc/testkit';
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

/** Ranks all-reduce, one a host, until `strike` does something to them. Gives what the ranks `victims` aside say. */
async function faultsAfter(
  options: TestNetworkOptions,
  { timeoutMs = 60_000, floats = 100_000, victim }: { timeoutMs?: number; floats?: number; victim: number },
  strike: (situation: Situation) => Promise<void>,
): Promise<Fault[]> {
  await using network = await TestNetwork.create(options);
  const ranks = startRanks(network, 'endless.ts', [String(timeoutMs), String(floats)]);
  await Promise.all(ranks.map((rank) => written(rank, 'under way')));
  await strike({ network, ranks });
  const others = ranks.filter((_, rank) => rank !== victim);
  const ends = await Promise.all(others.map(({ ended }) => ended));
  return ends.map(({ result, output }) => {
    expect(result, output).toBeDefined();
    return result as Fault;
  });
}

describe.each([0, 1, 2])('a rank that is lost: rank %i of 3', (victim) => {
  it('by a cut cable', async () => {
    const faults = await faultsAfter({ hosts: 3 }, { victim }, async ({ network }) => {
      await network.cut(network.hosts[victim]!);
    });
    for (const { code, message, ms } of faults) {
      expect(code, message).toBe('ACC_PEER_LOST');
      expect(message).toMatch(
        new RegExp(`^allReduce\\(float32\\[100000\\], 'sum'\\), call \\d+: rank ${victim} does not answer`),
      );
      expect(ms).toBeLessThan(20_000);
    }
  });

  it('by SIGKILL', async () => {
    const faults = await faultsAfter({ hosts: 3 }, { victim }, async ({ ranks }) => {
      process.kill(-ranks[victim]!.child.pid!, 'SIGKILL');
    });
    for (const { code, message, ms } of faults) {
      expect(code, message).toBe('ACC_PEER_LOST');
      expect(message).toMatch(new RegExp(`call \\d+: rank ${victim} has died`));
      expect(message).toMatch(new RegExp(`rank ${victim} \\(process \\d+ on host${victim}\\)`));
      expect(ms).toBeLessThan(20_000);
    }
  });

  it('by SIGSTOP', async () => {
    const faults = await faultsAfter({ hosts: 3 }, { victim, timeoutMs: 5_000 }, async ({ ranks }) => {
      process.kill(-ranks[victim]!.child.pid!, 'SIGSTOP');
    });
    for (const { code, message } of faults) {
      expect(code, message).toBe('ACC_COLLECTIVE_TIMEOUT');
      expect(message).toMatch(new RegExp(`call \\d+: rank ${victim} did not come`));
      expect(message).toMatch(new RegExp(`rank ${victim} \\(process \\d+ on host${victim}\\)`));
    }
  });
});

it('a cable that is mended in time is no fault', async () => {
  await using network = await TestNetwork.create({ hosts: 2 });
  const ranks = startRanks(network, 'endless.ts', ['60000', '1000']);
  await Promise.all(ranks.map((rank) => written(rank, 'under way')));
  await network.cut(network.hosts[1]!);
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  await network.mend(network.hosts[1]!);
  await Promise.all(ranks.map((rank) => written(rank, 'far on')));
});

it('slow and lossy cables are no fault', async () => {
  await using network = await TestNetwork.create({ hosts: 3, cable: { delayMs: 20, lossPercent: 2 } });
  const ranks = startRanks(network, 'endless.ts', ['60000', '1000']);
  await Promise.all(ranks.map((rank) => written(rank, 'under way')));
});

it('what every rank last called is in a file', async () => {
  const [fault] = await faultsAfter({ hosts: 2 }, { victim: 1 }, async ({ ranks }) => {
    process.kill(-ranks[1]!.child.pid!, 'SIGKILL');
  });
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

it('nothing is left of ranks that were all killed: the next job takes the same port', async () => {
  await using network = await TestNetwork.create({ hosts: 2 });
  for (let job = 0; job < 2; job++) {
    const ranks = startRanks(network, 'endless.ts', ['60000', '1000']);
    await Promise.all(ranks.map((rank) => written(rank, 'under way')));
    for (const { child } of ranks) process.kill(-child.pid!, 'SIGKILL');
    await Promise.all(ranks.map(({ ended }) => ended));
  }
});

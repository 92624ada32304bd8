import { randomBytes } from 'node:crypto';
import { describe, expect, inject, it } from 'vitest';
import { collectiveCases, TestNetwork, type CaseResult } from '@acc/testkit';
import { patienceWith } from '../patience.js';
import { startRank, startRanks } from './run-on-hosts.js';

/** Runs the published suite with the given number of ranks on each host, and all or few element types. */
async function conform(ranksOfHosts: readonly number[], dtypes: 'all' | 'few'): Promise<void> {
  await using network = await TestNetwork.create({ hosts: ranksOfHosts.length });
  const job = {
    MASTER_ADDR: network.hosts[0]!.address,
    MASTER_PORT: '29500',
    WORLD_SIZE: String(ranksOfHosts.reduce((sum, ranks) => sum + ranks)),
    ACC_JOB_TOKEN: randomBytes(16).toString('hex'),
  };
  let next = 0;
  const ranks = ranksOfHosts.flatMap((count, host) =>
    Array.from({ length: count }, (_, local) => {
      const own = { RANK: String(next++), LOCAL_RANK: String(local), LOCAL_WORLD_SIZE: String(count) };
      const script = '../../e2e/ranks/conformance.ts';
      return startRank(network, network.hosts[host]!, script, [dtypes, 'hierarchical:native'], {
        ...job,
        ...own,
      });
    }),
  );
  const size = next;
  const left = collectiveCases.filter(
    ({ minRanks = 1, maxRanks = 64 }) => size < minRanks || size > maxRanks,
  );
  for (const { code, output, result } of await Promise.all(ranks.map(({ ended }) => ended))) {
    expect(code, output).toBe(0);
    const outcomes = (result as Record<string, CaseResult[]>)['hierarchical:native']!;
    expect(outcomes.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
    const passed = outcomes.filter(({ outcome }) => outcome === 'passed');
    expect(passed).toHaveLength(collectiveCases.length - left.length);
  }
}

describe('the hierarchical engine passes the conformance suite', () => {
  it('with two ranks on each of two hosts', () => conform([2, 2], 'all'), 300_000);
  it('with different numbers of ranks on three hosts', () =>
    conform([1, 3, 2], inject('isRelease') ? 'all' : 'few'));
});

describe('different calls are named on every rank', () => {
  it.each([
    ['inside a host', ['4', '5', '4', '4']],
    ['between hosts', ['4', '4', '5', '5']],
  ])('%s', async (_, floats) => {
    await using network = await TestNetwork.create({ hosts: 2 });
    const args = [JSON.stringify(patienceWith('noticeMs')), ...floats];
    const ranks = startRanks(network, 'differ.ts', args, { ranksPerHost: 2 });
    for (const { result, output } of await Promise.all(ranks.map(({ ended }) => ended))) {
      const { code, message, ms } = result as { code: string; message: string; ms: number };
      expect(code, output).toBe('ACC_COLLECTIVE_MISMATCH');
      floats.forEach((count, rank) =>
        expect(message).toContain(`rank ${rank}: allReduce(float32[${count}], 'sum')`),
      );
      expect(ms).toBeLessThan(60_000);
    }
  });
});

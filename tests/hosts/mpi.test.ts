import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { buildMpi } from '@acc/native';
import { collectiveCases, runRanks, TestNetwork, type CaseResult } from '@acc/testkit';
import { mpirun } from './mpirun.js';

const conformance = new URL('./ranks/mpi-conformance.ts', import.meta.url);
const train = new URL('./ranks/mpi-train.ts', import.meta.url);
const meet = new URL('./ranks/meet.ts', import.meta.url);

beforeAll(() => {
  buildMpi();
});

it('mpirun starts a program that joins without other options', async () => {
  const { code, output } = await mpirun(meet, { ranks: 3 });
  expect(code, output).toBe(0);
  for (let rank = 0; rank < 3; rank++) expect(output).toContain(`met ${rank}/3 local ${rank}/3 sum 6`);
});

describe('collectives on mpi pass the conformance suite', () => {
  it.each([1, 2, 3, 7])('on %i ranks', async (ranks) => {
    const { code, output, results } = await mpirun(conformance, {
      ranks,
      // Every type passes on fewer ranks.
      args: [ranks > 3 && !inject('isRelease') ? 'few' : 'all'],
    });
    expect(code, output).toBe(0);
    expect(results).toHaveLength(ranks);
    const left = collectiveCases.filter(
      ({ minRanks = 1, maxRanks = 64 }) => ranks < minRanks || ranks > maxRanks,
    );
    for (const cases of results as { failed: CaseResult[]; passed: number }[]) {
      expect(cases).toEqual({ failed: [], passed: collectiveCases.length - left.length });
    }
  });
});

describe('training on mpi', () => {
  const env = { ACC_COLLECTIVE_ENGINE: 'mpi' };

  it('gives all ranks the same weights, also without endTraining', async () => {
    for (const ending of ['ends', 'just exits']) {
      const { code, output, results } = await mpirun(train, { ranks: 2, env, args: [ending] });
      expect(code, output).toBe(0);
      expect(results[0], output).toMatchObject({ engine: 'mpi' });
      expect(results[1]).toEqual(results[0]);
    }
  });

  it('names ranks with different numbers of backward passes on every rank', async () => {
    const { output, results } = await mpirun(train, { ranks: 3, env, args: ['fewer'] });
    expect(results, output).toHaveLength(3);
    for (const fault of results as { code: string; message: string }[]) {
      expect(fault.code, fault.message).toBe('ACC_COLLECTIVE_MISMATCH');
      expect(fault.message).toMatch(/^ {2}rank 1: barrier\(\)/m);
    }
  });

  it('names a missing rank', async () => {
    const { output, results } = await mpirun(train, { ranks: 3, env, args: ['late'] });
    for (const rank of [0, 2]) {
      const fault = results[rank] as { code: string; message: string };
      expect(fault.code, output).toBe('ACC_COLLECTIVE_TIMEOUT');
      expect(fault.message).toMatch(/call \d+: rank 1 did not come/);
    }
  });

  it('ends with the program that fails', async () => {
    const { code, output } = await mpirun(train, { ranks: 2, env, args: ['throws'] });
    expect(code, output).not.toBe(0);
    expect(output).toContain('the culprit');
  });

  it('is refused if mpirun did not start the program', async () => {
    const results = await runRanks<{ code: string }>({ script: train, ranks: 2, args: ['ends'], env });
    for (const { stderr } of results) {
      expect(stderr).toContain('ACC_ENGINE_UNAVAILABLE');
      expect(stderr).toContain('neither mpirun nor srun started it');
    }
  });
});

it('runs on two hosts if MASTER_ADDR is set', async () => {
  await using network = await TestNetwork.create({ hosts: 2 });
  const names = network.hosts.map(({ name, address }) => `${address} ${name}`).join('\n');
  for (const host of network.hosts) network.setHostsFile(host, `127.0.0.1 localhost\n${names}\n`);
  const [first] = network.hosts;
  const folder = mkdtempSync(join(tmpdir(), 'acc-mpi-'));
  // This replaces ssh.
  const agent = join(folder, 'agent');
  const places = network.hosts.map(({ name, namespace }) => `  ${name}) namespace=${namespace} ;;`);
  const enter = 'exec ip netns exec $namespace unshare --uts sh -c "hostname $host; $*"';
  writeFileSync(
    agent,
    ['#!/bin/sh', 'host=$1; shift', 'case $host in', ...places, 'esac', enter, ''].join('\n'),
    {
      mode: 0o755,
    },
  );
  const shared = {
    ranks: 4,
    before: [
      'ip',
      'netns',
      'exec',
      first!.namespace,
      'unshare',
      '--uts',
      'sh',
      '-c',
      'hostname host0; exec "$@"',
      'sh',
    ],
    options: [
      '--host',
      'host0:2,host1:2',
      '--mca',
      'plm_rsh_agent',
      agent,
      '--mca',
      'btl_tcp_if_include',
      'eth0',
    ],
  };
  const unsaid = await mpirun(meet, shared);
  const options = [...shared.options, '-x', `MASTER_ADDR=${first!.address}`];
  const gloo = await mpirun(meet, { ...shared, options });
  const env = { ACC_COLLECTIVE_ENGINE: 'mpi' };
  const mpi = await mpirun(meet, { ...shared, env, options: [...options, '-x', 'ACC_COLLECTIVE_ENGINE'] });
  rmSync(folder, { recursive: true });
  expect(unsaid.output).toContain('ACC_ENVIRONMENT');
  for (const { output } of [gloo, mpi]) {
    for (let rank = 0; rank < 4; rank++) expect(output).toContain(`met ${rank}/4 local ${rank % 2}/2 sum 10`);
  }
});

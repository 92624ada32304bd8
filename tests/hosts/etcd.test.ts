import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { TestNetwork } from '@acc/testkit';
import { launch, written, type Running, type Variables } from './run-on-hosts.js';

const meet = fileURLToPath(new URL('./ranks/meet.ts', import.meta.url));
const wait = fileURLToPath(new URL('./ranks/wait.ts', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'acc-etcd-'));

/** The release tests wait for the default. A launcher must be able to renew its lease in this time. */
const hostTimeout = (seconds: number): string[] =>
  inject('isRelease') ? [] : ['--host-timeout', String(seconds)];

let network: TestNetwork;
beforeAll(async () => {
  network = await TestNetwork.create({ hosts: 3 });
  const url = `http://${network.hosts[2]!.address}:2379`;
  const args = ['--data-dir', folder, '--listen-client-urls', url, '--advertise-client-urls', url];
  network.spawn(network.hosts[2]!, 'etcd', [...args, '--logger', 'zap'], { stdio: 'ignore' });
});
afterAll(async () => {
  await network?.dispose();
  rmSync(folder, { recursive: true, force: true });
});

function start(
  host: number,
  id: string,
  args: readonly string[],
  script = meet,
  env: Variables = {},
): Running {
  const etcd = ['--rdzv-backend', 'etcd', '--rdzv-endpoint', network.hosts[2]!.address, '--rdzv-id', id];
  return launch(network, network.hosts[host]!, ['--nnodes', '2', ...etcd, ...args, script], env);
}

it('assigns node ranks to hosts with different numbers of processes', async () => {
  const outputs = await Promise.all(
    [start(0, 'a', ['-n', '2']), start(1, 'a', ['-n', '1'])].map(({ ended }) => ended),
  );
  const all = outputs.map(({ output }) => output).join('\n');
  expect(all.match(/met \d\/3 local \d\/\d sum 6/g), all).toHaveLength(3);
});

it('keeps requested node ranks, and separates jobs', async () => {
  const running = ['b', 'c'].flatMap((id) =>
    [1, 0].map((rank) => start(rank, id, ['--node-rank', String(rank)])),
  );
  const ended = await Promise.all(running.map((one) => one.ended));
  expect(ended.map(({ output }) => /met (\d\/2) local 0\/1 sum 3/.exec(output)?.[1] ?? output)).toEqual([
    '1/2',
    '0/2',
    '1/2',
    '0/2',
  ]);
});

it('refuses an additional host, and the job continues without etcd', async () => {
  const end = join(folder, 'end-of-d');
  const running = [0, 1].map((host) => start(host, 'd', [], wait, { ACC_TEST_END: end }));
  await Promise.all(running.map((one) => written(one, 'waiting')));
  const late = await start(2, 'd', hostTimeout(4)).ended;
  expect(late.code).toBe(2);
  expect(late.output).toContain('ACC_NODE_RANK_TAKEN');
  await network.cut(network.hosts[2]!);
  writeFileSync(end, '');
  const ended = await Promise.all(running.map((one) => one.ended));
  await network.mend(network.hosts[2]!);
  for (const { code, output } of ended) expect(code, output).toBe(0);
});

it('a job can start after one of the same name was killed', async () => {
  const end = join(folder, 'never');
  const killed = [0, 1].map((host) => {
    const args = ['--node-rank', String(host), ...hostTimeout(host === 0 ? 6 : 4)];
    return start(host, 'e', args, wait, { ACC_TEST_END: end });
  });
  await Promise.all(killed.map((one) => written(one, 'waiting')));
  // The node ranks become free one after another, the second one first. The host that gets it finds
  // the decisions of the earlier job.
  for (const { child } of killed.toReversed()) {
    process.kill(-child.pid!, 'SIGKILL');
    await sleep(inject('isRelease') ? 4_000 : 1_000);
  }
  await Promise.all(killed.map((one) => one.ended));
  const again = await Promise.all([start(0, 'e', []), start(1, 'e', [])].map(({ ended }) => ended));
  for (const { output } of again) expect(output).toMatch(/met \d\/2 local 0\/1 sum 3/);
});

it('reports that etcd does not answer', async () => {
  const args = [
    '--nnodes',
    '2',
    '--rdzv-backend',
    'etcd',
    '--rdzv-endpoint',
    '10.77.0.1:2380',
    '--rdzv-id',
    'f',
  ];
  const { code, output } = await launch(network, network.hosts[0]!, [...args, meet]).ended;
  expect(output).toContain('ACC_ETCD_UNREACHABLE');
  expect(code).toBe(2);
});

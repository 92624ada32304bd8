import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { fileURLToPath } from 'node:url';
import { TestNetwork, type TestNetworkOptions } from '@acc/testkit';
import { launch, startRanks, written, type Variables } from './run-on-hosts.js';

const meet = fileURLToPath(new URL('./ranks/meet.ts', import.meta.url));

interface Host {
  readonly nproc?: number;
  readonly args?: readonly string[];
  readonly env?: Variables;
}

/** Launches on every host of a network and returns the outputs. */
async function launchAll(
  options: TestNetworkOptions,
  endpointOf: (network: TestNetwork) => string,
  hostOf: (index: number) => Host = () => ({}),
  prepare: (network: TestNetwork) => void = () => {},
): Promise<string[]> {
  await using network = await TestNetwork.create(options);
  prepare(network);
  const { length } = network.hosts;
  const running = network.hosts.map((host, i) => {
    const { nproc = 1, args = [], env } = hostOf(i);
    const place = ['--nnodes', length, '--node-rank', i, '--rdzv-endpoint', endpointOf(network)].map(String);
    return launch(network, host, ['-n', String(nproc), ...place, ...args, meet], env);
  });
  return (await Promise.all(running.map(({ ended }) => ended))).map(({ output }) => output);
}

const onFirst = (network: TestNetwork) => `${network.hosts[0]!.address}:29500`;

describe('acc launch on several hosts', () => {
  it('runs ranks on two hosts, over cables with delay and loss', async () => {
    const cable = { delayMs: 5, lossPercent: 1 };
    const [first, second] = await launchAll({ hosts: 2, cable }, onFirst, () => ({ nproc: 2 }));
    expect(first).toContain('met 0/4 local 0/2 sum 10');
    expect(first).toContain('met 1/4 local 1/2 sum 10');
    expect(second).toContain('met 2/4 local 0/2 sum 10');
    expect(second).toContain('met 3/4 local 1/2 sum 10');
  });

  it('runs ranks on three hosts', async () => {
    const outputs = await launchAll({ hosts: 3 }, onFirst);
    outputs.forEach((output, i) => expect(output).toContain(`met ${i}/3 local 0/1 sum 6`));
  });

  it('works over IPv6', async () => {
    const outputs = await launchAll({ hosts: 2 }, (network) => `[${network.hosts[0]!.address6}]:29500`);
    outputs.forEach((output, i) => expect(output).toContain(`met ${i}/2 local 0/1 sum 3`));
  });

  it('finds the address of a host that resolves its own name to a loopback address', async () => {
    const outputs = await launchAll(
      { hosts: 2 },
      () => 'host0:29500',
      () => ({}),
      (network) => {
        const [first, second] = network.hosts;
        network.setHostsFile(first!, '127.0.0.1 localhost\n127.0.1.1 host0\n');
        network.setHostsFile(second!, `127.0.0.1 localhost\n${first!.address} host0\n`);
      },
    );
    outputs.forEach((output, i) => expect(output).toContain(`met ${i}/2 local 0/1 sum 3`));
  });

  it('uses the requested network interface', async () => {
    const outputs = await launchAll({ hosts: 2 }, onFirst, () => ({ args: ['--interface', 'eth0'] }));
    outputs.forEach((output, i) => expect(output).toContain(`met ${i}/2 local 0/1 sum 3`));
  });
});

describe('hosts that were started differently', () => {
  it('all get an error if numbers of processes differ', async () => {
    const outputs = await launchAll({ hosts: 2 }, onFirst, (i) => ({ nproc: i + 1 }));
    for (const output of outputs) expect(output).toContain('failed ACC_RENDEZVOUS_CONFLICT');
  });

  it('get an error if their tokens differ', async () => {
    await using network = await TestNetwork.create({ hosts: 2 });
    const [first, second] = network.hosts.map((host, i) => {
      const place = ['--nnodes', '2', '--node-rank', String(i), '--rdzv-endpoint', onFirst(network)];
      return launch(network, host, [...place, meet], { ACC_JOB_TOKEN: `token ${i}` });
    });
    expect((await second!.ended).output).toContain('failed ACC_JOB_TOKEN');
    expect(first!.child.exitCode).toBeNull();
  });

  it('get an error for an unknown interface', async () => {
    const [first] = await launchAll({ hosts: 2 }, onFirst, () => ({ args: ['--interface', 'ib0'] }));
    expect(first).toContain('failed ACC_INTERFACE_UNKNOWN');
  });
});

/** The `address:port` of each listening socket on a host, according to the kernel. */
function listeners(namespace: string): string[] {
  const { stdout } = spawnSync('ip', ['netns', 'exec', namespace, 'ss', '-Hltn'], { encoding: 'utf8' });
  return stdout.split('\n').flatMap((line) => line.trim().split(/\s+/)[3] ?? []);
}

it('listens only on the chosen address, and to nobody after all ranks have joined', async () => {
  await using network = await TestNetwork.create({ hosts: 2 });
  const [first, second] = network.hosts;
  const ranks = startRanks(network, 'endless.ts', ['gloo', '60000', '1000']);
  await Promise.all(ranks.map((rank) => written(rank, 'under way')));
  const ends = listeners(first!.namespace);
  expect(ends.length).toBeGreaterThan(0);
  for (const end of ends) {
    expect(end.startsWith(`${first!.address}:`), end).toBe(true);
    const port = end.slice(end.lastIndexOf(':') + 1);
    const attempt = [
      'netns',
      'exec',
      second!.namespace,
      process.execPath,
      '-e',
      ATTEMPT,
      first!.address,
      port,
    ];
    expect(spawnSync('ip', attempt, { encoding: 'utf8' }).stdout, end).toBe('no answer');
  }
});

const ATTEMPT = `
const [host, port] = process.argv.slice(1);
const socket = require('node:net').connect(port, host, () => say('connected')).on('error', (e) => say(e.code));
const say = (what) => { process.stdout.write(what); process.exit(); };
setTimeout(say, 2000, 'no answer');
`;

import { expect, it } from 'vitest';
import { TestNetwork } from '@acc/testkit';
import { startRank, type Variables } from './run-on-hosts.js';

const started = async (network: TestNetwork, masterAddress: string): Promise<string[]> => {
  const job: Variables = {
    WORLD_SIZE: '2',
    MASTER_ADDR: masterAddress,
    MASTER_PORT: '29500',
    LOCAL_RANK: undefined,
    LOCAL_WORLD_SIZE: undefined,
  };
  const ranks = network.hosts.map((host, rank) =>
    startRank(network, host, 'meet.ts', [], { ...job, RANK: String(rank) }),
  );
  return (await Promise.all(ranks.map(({ ended }) => ended))).map(({ output }) => output);
};

it('ranks that are started by hand on two hosts, without LOCAL_WORLD_SIZE, meet', async () => {
  await using network = await TestNetwork.create({ hosts: 2 });
  const outputs = await started(network, network.hosts[0]!.address);
  expect(outputs[0]).toContain('met 0/2 local 0/');
  expect(outputs[1]).toContain('met 1/2 local 0/1 sum 3');
});

it('they also meet if the first resolves its own name to a loopback address', async () => {
  await using network = await TestNetwork.create({ hosts: 2 });
  const [first, second] = network.hosts;
  network.setHostsFile(first!, '127.0.0.1 localhost\n127.0.1.1 host0\n');
  network.setHostsFile(second!, `127.0.0.1 localhost\n${first!.address} host0\n`);
  const outputs = await started(network, 'host0');
  expect(outputs[0]).toContain('met 0/2 local 0/');
  expect(outputs[1]).toContain('met 1/2 local 0/1 sum 3');
});

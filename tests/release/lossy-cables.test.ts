import { expect, it } from 'vitest';
import { TestNetwork } from '@acc/testkit';
import { startRanks, written } from '../hosts/run-on-hosts.js';

it('slow and lossy cables cause no error', async () => {
  await using network = await TestNetwork.create({ hosts: 3, cable: { delayMs: 10, lossPercent: 2 } });
  const ranks = startRanks(network, 'endless.ts', ['gloo', '60000', '1000']);
  await Promise.all(ranks.map((rank) => written(rank, 'far on')));
  expect(ranks.map(({ output }) => /^::result::.*$/m.exec(output())?.[0])).toEqual(
    ranks.map(() => undefined),
  );
});

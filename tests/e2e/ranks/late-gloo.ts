// Joins over Gloo like joinGroup, but with pauses in which a test can connect to the ports. Rank 1
// connects to the store when one file exists, and to the group when another exists. Arguments: the
// folder of the files.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { joinGroup } from '@acc/collective';
import { ProcessGroup, tensorFrom } from '@acc/native';
import { reportResult, startedRank } from '@acc/testkit';

const [folder] = process.argv.slice(2) as [string];
const started = startedRank();
const { rank } = started;

async function appears(name: string): Promise<void> {
  while (!existsSync(join(folder, name))) await sleep(50);
}

if (rank === 1) {
  await appears('to-the-store');
  const { create } = ProcessGroup;
  ProcessGroup.create = async (...args) => {
    await appears('to-the-group');
    return create.apply(ProcessGroup, args);
  };
}
const joined = await joinGroup({
  ...started,
  isOneHost: false,
  engine: 'gloo',
  timeoutMs: 240_000,
});
const { group, close } = joined;
// A sub-group meets when the store accepts no more connections, and has its own port.
const subgroup = joined.subgroup([1, 0], 'sub');
const x = tensorFrom(Float32Array.of(rank + 1), 'float32', [1]);
group.allReduce(x, x, 'sum', { isBlocking: true }).wait();
console.log(`sum ${x.read()[0]}`);
await appears('to-the-end');
subgroup.group.allReduce(x, x, 'sum', { isBlocking: true }).wait();
reportResult(x.read()[0]);
close();

// Joins over Gloo as joinGroup does, but with pauses, in which a test may talk to the ports: rank 1 comes to the store when a file
// is there, and to the group when another is. Arguments: the folder of the files.
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
  timeoutMs: 60_000,
});
const { group, close } = joined;
// A sub-group meets when nobody can come to the store any more, and has a port of its own.
const subgroup = joined.subgroup([1, 0], 'sub');
const x = tensorFrom(Float32Array.of(rank + 1), 'float32', [1]);
group.allReduce(x, x, 'sum', { isBlocking: true }).wait();
console.log(`sum ${x.read()[0]}`);
await appears('to-the-end');
subgroup.group.allReduce(x, x, 'sum', { isBlocking: true }).wait();
reportResult(x.read()[0]);
close();

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
  const { gloo } = ProcessGroup;
  ProcessGroup.gloo = async (...args) => {
    await appears('to-the-group');
    return gloo.apply(ProcessGroup, args);
  };
}
const { group, close } = await joinGroup({
  ...started,
  isOneHost: false,
  engine: 'gloo',
  timeoutMs: 60_000,
});
const x = tensorFrom(Float32Array.of(rank + 1), 'float32', [1]);
group.allReduce(x, x, 'sum', { isBlocking: true }).wait();
console.log(`sum ${x.read()[0]}`);
await appears('to-the-end');
group.allReduce(x, x, 'sum', { isBlocking: true }).wait();
reportResult(x.read()[0]);
close();

// Joins its job again after a failed rendezvous, and creates Accelerators with different options of
// the group.
import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, type AcceleratorOptions } from '@acc/core';
import { reportResult } from '@acc/testkit';

const [folder] = process.argv.slice(2) as [string];
const rank = Number(process.env['RANK']);
const SHORT = { collective: { timeoutMs: 1_000 } };
const LONG: AcceleratorOptions = { collective: { timeoutMs: 240_000, engine: 'gloo' } };
const tell = (name: string) => writeFileSync(`${folder}/${name}`, '');
const told = async (name: string) => {
  while (!existsSync(`${folder}/${name}`)) await sleep(20);
};
const codeOf = (options: AcceleratorOptions) =>
  Accelerator.create(options).then(
    () => 'created',
    (error: { code: string }) => error.code,
  );

let failed = 'not tried';
if (rank === 0) {
  failed = await codeOf(SHORT);
  tell('rank 0 has failed');
} else {
  await told('rank 0 has failed');
}
// Rank 0 waits in its second attempt, and still has the entry of rank 1's first attempt.
if (rank === 1) {
  failed = await codeOf({ collective: { ...SHORT.collective, engine: 'gloo' } });
  tell('rank 1 has failed');
} else if (rank === 2) {
  await told('rank 1 has failed');
}
const first = await Accelerator.create(LONG);
const sum = tf.tidy(() => first.reduce(tf.scalar(rank + 1)).dataSync()[0]);
first.freeMemory();
const refused = [
  await codeOf({ collective: { engine: 'shm' } }),
  await codeOf({ collective: { timeoutMs: 5 } }),
];
const same = await Accelerator.create(LONG);
same.freeMemory();
const last = await Accelerator.create({ seed: 1 });
const again = last.gatherObject([rank]);
reportResult({ failed, sum, refused, again });
await last.endTraining();

// The main process fails in the function that it runs first. Arguments: whether it throws or
// rejects.
import { setTimeout as sleep } from 'node:timers/promises';
import { Accelerator } from '@acc/core';
import { reportResult } from '@acc/testkit';

const [how] = process.argv.slice(2) as ['throw' | 'reject'];
const accelerator = await Accelerator.create();
const order: string[] = [];

function download(): number | Promise<number> {
  if (!accelerator.isMainProcess) return accelerator.processIndex;
  if (how === 'throw') throw new Error('no network');
  return sleep(50).then(() => Promise.reject(new Error('no network')));
}

try {
  order.push(String(await accelerator.mainProcessFirst(download)));
} catch (error) {
  order.push((error as Error).message);
}
// If a rank had called one barrier too few or too many, it would meet others here.
order.push(...accelerator.gatherObject([accelerator.processIndex]).map(String));
await accelerator.endTraining();
reportResult(order);

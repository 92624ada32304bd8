// Joins, and stays for half a minute.
import { setTimeout as sleep } from 'node:timers/promises';
import { Accelerator } from '@acc/core';

const accelerator = await Accelerator.create();
console.log('waiting');
await sleep(35_000);
accelerator.waitForEveryone();
await accelerator.endTraining();

// Joins the job, and ends when the file named by the variable ACC_TEST_END exists.
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Accelerator } from '@acc/core';

const accelerator = await Accelerator.create();
console.log('waiting');
while (!existsSync(process.env['ACC_TEST_END']!)) await sleep(100);
accelerator.waitForEveryone();
await accelerator.endTraining();

// Exposes metrics to Prometheus: some at first, one more after a file was created, and none after
// it was deleted.
import { existsSync } from 'node:fs';
import { poll } from '@acc/contract';
import { Accelerator } from '@acc/core';

const [host, file] = process.argv.slice(2) as [string, string];
const accelerator = await Accelerator.create({ logWith: ['prometheus'], projectDir: `${file}-project` });
await accelerator.initTrackers('watched', {}, { prometheus: { host } }, { name: 'first' });
const until = (isThere: boolean) => poll(() => existsSync(file) === isThere || undefined);
accelerator.log({ loss: 1 }, { step: 1 });
accelerator.log({ 'val/accuracy': NaN }, { step: 2 });
accelerator.log({ loss: 0.25 }, { step: 3 });
console.log('waiting');
await until(true);
accelerator.log({ loss: 0.125 }, { step: 4 });
await until(false);
await accelerator.endTraining();

import { writeSync } from 'node:fs';
import { atTraining } from './at-training.mjs';

atTraining(() => {
  writeSync(2, `hanging ${process.pid}\n`);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
});

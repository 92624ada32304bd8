import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** Runs `fault` on rank 1 of `acc test` when it starts the check of training. */
export function atTraining(fault) {
  if (process.env.RANK !== '1') return;
  const { appendFileSync } = fs;
  fs.appendFileSync = (path, text) => {
    appendFileSync(path, text);
    if (String(text).includes('"check":"training","state":"started"')) fault();
  };
  syncBuiltinESMExports();
}

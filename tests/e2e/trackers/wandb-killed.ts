// Logs three rows for W&B in the given project, and is then killed.
import { setTimeout as sleep } from 'node:timers/promises';
import { wandbTracker } from '@acc/tracker-wandb';
import { beginRun } from './record-run.js';

const { bus } = await beginRun(wandbTracker({ upload: 'never' }), {
  projectDir: process.argv[2]!,
  limits: { batchMs: 0 },
});
for (let step = 0; step < 3; step++) {
  bus.log({ loss: step }, { step });
  await sleep(10);
}
process.kill(process.pid, 'SIGKILL');

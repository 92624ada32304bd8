import { Worker } from 'node:worker_threads';

/**
 * Runs in a thread, because a rank that waits for another one runs no JavaScript. Writes one line
 * to stderr if the step count does not change for too long. The script is plain text, so that
 * bundles need no extra file.
 */
const SCRIPT = `
const { workerData } = require('node:worker_threads');
const { writeSync } = require('node:fs');
const { shared, stallMs, rank } = workerData;
const steps = new Int32Array(shared);
let last = 0, since = Date.now(), told = false;
setInterval(() => {
  const now = Atomics.load(steps, 0);
  if (now !== last) { last = now; since = Date.now(); told = false; return; }
  if (now === 0 || told || Date.now() - since < stallMs) return;
  told = true;
  writeSync(2, 'acc: rank ' + rank + ' has taken no step for ' + Math.round((Date.now() - since) / 1000) + ' s, since step ' + now + '. It computes, waits for data, or waits for another rank.\\n');
}, Math.min(1000, stallMs / 4));
`;

/** Reports a stall while it lasts. The alert comes when the stall is over. */
export class StallWatch {
  readonly #steps = new Int32Array(new SharedArrayBuffer(4));
  readonly #worker: Worker;

  constructor(options: { readonly stallMs: number; readonly rank: number }) {
    this.#worker = new Worker(SCRIPT, {
      eval: true,
      execArgv: [],
      workerData: { shared: this.#steps.buffer, ...options },
    });
    this.#worker.unref();
  }

  step(): void {
    Atomics.add(this.#steps, 0, 1);
  }

  close(): void {
    void this.#worker.terminate();
  }
}

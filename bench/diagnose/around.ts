import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import type { Tracker } from '@acc/core';

/** A tracker that keeps the main thread in each call, as one that writes files without waiting does. */
export function slowTracker(ms: number): Tracker {
  return {
    name: 'slow',
    start: () => Promise.resolve(),
    log: () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms),
    finish: () => Promise.resolve(),
  };
}

/** Starts a program for each processor that uses it until this process ends. */
export function keepBusy(): void {
  const busy = `const parent = ${process.pid};
while (true) {
  for (const end = Date.now() + 200; Date.now() < end; );
  try { process.kill(parent, 0); } catch { break; }
}`;
  for (let i = 0; i < availableParallelism(); i++) {
    const child = spawn(process.execPath, ['-e', busy], { stdio: 'ignore' });
    process.once('exit', () => child.kill());
    // It must not keep this process.
    child.unref();
  }
}

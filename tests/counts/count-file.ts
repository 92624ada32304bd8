import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, expect } from 'vitest';

const WRITE = Symbol.for('acc.counts.write');

// A setup file of vitest. In a counted run (`ACC_TEST_COUNTS` is a folder) it names the test file to
// the processes that it starts, and writes the processor seconds of this process and of those that it
// waited for. Continuous ranks outlast a test file, so they count their modules themselves, and what
// they used is left out here when they end.
const folder = process.env['ACC_TEST_COUNTS'];
if (folder) {
  const root = join(import.meta.dirname, '..', '..');
  const test = relative(root, expect.getState().testPath!);
  const write = (line: object) =>
    appendFileSync(join(folder, 'files.jsonl'), `${JSON.stringify({ test, ...line })}\n`);
  process.env['ACC_TEST_FILE'] = test;
  listen();
  let ofJobs = 0;
  const noteJobs = (message: unknown): void => {
    for (const pid of (message as { pids: readonly number[] }).pids) ofJobs += secondsOfProcess(pid);
  };
  subscribe('@acc/testkit:jobs', noteJobs);
  const before = secondsOfProcess('self');
  const start = performance.now();
  afterAll(() => {
    unsubscribe('@acc/testkit:jobs', noteJobs);
    const processorSeconds = Math.max(0, secondsOfProcess('self') - before - ofJobs);
    write({ event: 'file', processorSeconds, seconds: (performance.now() - start) / 1000 });
  });

  function listen(): void {
    const holder = globalThis as { [WRITE]?: (line: object) => void };
    // Several test files may share a process.
    if (!holder[WRITE])
      subscribe('@acc/testkit:runs', (run) => holder[WRITE]!({ event: 'run', ...(run as object) }));
    holder[WRITE] = write;
  }
}

/**
 * Of a process and its ended children, with theirs, in seconds. 0 for one that has ended. Linux counts
 * hundredths.
 */
function secondsOfProcess(pid: number | 'self'): number {
  if (!existsSync(`/proc/${pid}/stat`)) return 0;
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
}

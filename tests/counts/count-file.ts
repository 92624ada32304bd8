import { appendFileSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, expect } from 'vitest';

// A setup file of vitest. In a counted run it names the test file to the processes that it starts,
// and writes the processor seconds of this process and of all that it waited for.
const folder = process.env['ACC_TEST_COUNTS'];
if (folder) {
  const root = join(import.meta.dirname, '..', '..');
  const test = relative(root, expect.getState().testPath!);
  process.env['ACC_TEST_FILE'] = test;
  const before = secondsOfProcesses();
  const start = performance.now();
  afterAll(() => {
    const processorSeconds = secondsOfProcesses() - before;
    const seconds = (performance.now() - start) / 1000;
    appendFileSync(join(folder, 'files.jsonl'), `${JSON.stringify({ test, processorSeconds, seconds })}\n`);
  });
}

/** Of this process and its ended children, with theirs, in seconds. Linux counts hundredths. */
function secondsOfProcesses(): number {
  const text = readFileSync('/proc/self/stat', 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
}

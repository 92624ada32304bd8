import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { trackerCasesFor, type TrackerSubject } from '@acc/testkit';
import { myServiceTracker } from '../src/index.js';
import { storePath } from '../src/store.js';

interface Line {
  readonly kind: string;
  readonly step: number;
  readonly metrics: Record<string, number | string>;
  readonly status: 'completed' | 'failed' | 'aborted';
}

/** How the cases make the tracker, and how they see what it stored. */
const subject: TrackerSubject = {
  make: () => myServiceTracker(),
  makeWith: (options) => myServiceTracker(options),
  read(run, runId) {
    const path = storePath(run.dir, runId);
    if (!existsSync(path)) return { values: [] };
    const lines = readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
    const values = lines
      .filter(({ kind }) => kind === 'metrics')
      .flatMap(({ step, metrics }) =>
        Object.entries(metrics).map(([name, value]) => ({ name, step, value: Number(value) })),
      );
    return { values, status: lines.findLast(({ kind }) => kind === 'finish')?.status };
  },
};

for (const one of trackerCasesFor(subject)) void test(one.name, () => one.run(subject));

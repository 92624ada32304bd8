import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import type { RunStatus } from '@acc/contract';
import { trackerCasesFor, type TrackerSubject } from '@acc/testkit';
import { csvTracker } from './csv.js';
import { jsonlTracker } from './jsonl.js';

type Line = Record<string, unknown> & { readonly _step: number; readonly _status?: RunStatus };

const linesOf = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : []);

const jsonl: TrackerSubject = {
  make: () => jsonlTracker(),
  makeWith: (options) => jsonlTracker(options),
  read({ dir }) {
    const lines = linesOf(join(dir, 'metrics.jsonl')).map((line) => JSON.parse(line) as Line);
    const values = lines.flatMap(({ _step: step, ...others }) =>
      Object.entries(others)
        .filter(([name]) => !name.startsWith('_'))
        .map(([name, value]) => ({ name, step, value: Number(value) })),
    );
    return { values, status: lines.findLast(({ _status }) => _status)?._status };
  },
};

const csv: TrackerSubject = {
  make: () => csvTracker(),
  makeWith: (options) => csvTracker(options),
  read({ dir }) {
    const [header = '', ...rows] = linesOf(join(dir, 'metrics.csv'));
    const names = header.split(',');
    const values = rows.flatMap((row) => {
      const cells = row.split(',');
      return cells.flatMap((cell, i) =>
        i < 2 || cell === '' ? [] : [{ name: names[i]!, step: Number(cells[0]), value: Number(cell) }],
      );
    });
    return { values };
  },
  keepsStatus: false,
};

describe.each([
  ['jsonl', jsonl],
  ['csv', csv],
])('%s passes the conformance case', (_name, subject) => {
  it.each(trackerCasesFor(subject).map((one) => [one.name, one] as const))('%s', async (_case, one) => {
    await one.run(subject);
  });
});

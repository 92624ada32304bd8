// The record of what each test file costs, from which the queue makes its jobs. weights.mjs writes
// it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../process.mjs';

export const RECORD = 'scripts/queue/weights.json';

/** A file without a row: a new one. */
const UNKNOWN = {
  pure: { processorSeconds: 1, seconds: 1 },
  unit: { processorSeconds: 5, seconds: 5 },
  architecture: { processorSeconds: 2, seconds: 2 },
  e2e: { processorSeconds: 30, seconds: 30 },
  ranks: { processorSeconds: 15, seconds: 15 },
  hosts: { processorSeconds: 30, seconds: 30 },
  threads: { processorSeconds: 60, seconds: 30 },
};

/** Returns a function of a test file and its project: `{processorSeconds, seconds}`. */
export function readRecord() {
  const rows = JSON.parse(readFileSync(join(root, RECORD), 'utf8'));
  return (file, project) => rows[file] ?? UNKNOWN[project];
}

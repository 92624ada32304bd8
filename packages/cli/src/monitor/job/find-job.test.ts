import { cpSync, mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { findJob } from './find-job.js';

const recorded = fileURLToPath(new URL('../../../../records/src/testing/runs/ddp', import.meta.url));
/** A copy has just been written, as if a process on another host did so. */
const fresh = (): string => {
  const folder = join(realpathSync(mkdtempSync(join(tmpdir(), 'acc-job-'))), 'insight');
  cpSync(recorded, folder, { recursive: true });
  return folder;
};
const NOBODY = 4_294_967_294;

it('finds the job of a folder, and leaves those of other users alone', () => {
  const folder = fresh();
  expect(findJob(folder)).toBe(folder);
  expect(() => findJob(folder, NOBODY)).toThrow(/belongs to another user/);
});

it('says of a process why it cannot be asked', () => {
  expect(() => findJob(String(process.pid), NOBODY)).toThrow(/belongs to another user \(uid \d+\)/);
  expect(() => findJob('2147483647')).toThrow(/There is no process 2147483647/);
  expect(() => findJob(String(process.pid))).toThrow(/keeps no records/);
  expect(() => findJob(true, NOBODY)).toThrow(/No running job of this user/);
});

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { keepWholeErrors } from './error-folder.js';

afterEach(() => vi.unstubAllEnvs());

it('an error is kept if the screen does not have the whole of it', () => {
  const rank = (text: string) => ({ rank: 0, pid: 1, error: { code: undefined, text, whole: text } });
  expect(keepWholeErrors([rank('Error: x')])).toBeUndefined();
  const long = Array.from({ length: 40 }, (_, i) => `line ${i}`).join('\n');
  const path = keepWholeErrors([rank(long)])!;
  expect(readFileSync(path, 'utf8')).toContain(long);
  rmSync(dirname(path), { recursive: true });
});

it('the file of a job that failed more than a week ago is removed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-old-errors-'));
  vi.stubEnv('TMPDIR', folder);
  const [old, recent, running] = ['acc-errors-a1B2c3', 'acc-errors-d1B2c3', 'acc-errors-123-a1B2c3'].map(
    (name) => join(folder, name),
  );
  const days = (count: number) => new Date(Date.now() - count * 24 * 3600 * 1000);
  for (const [path, age] of [[old!, 8] as const, [recent!, 6] as const, [running!, 8] as const]) {
    mkdirSync(path);
    utimesSync(path, days(age), days(age));
  }
  keepWholeErrors([{ rank: 0, pid: 1, error: { code: undefined, text: 'x', whole: 'x and more' } }]);
  expect([old!, recent!, running!].map((path) => existsSync(path))).toEqual([false, true, true]);
  rmSync(folder, { recursive: true });
});

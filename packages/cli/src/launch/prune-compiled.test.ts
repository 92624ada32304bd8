import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { pruneCompiled } from './prune-compiled.js';

it('compiled code is removed after 30 days, once a day', () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-compiled-'));
  const path = (name: string) => join(folder, 'v22', name);
  const write = (name: string, daysAgo: number) => {
    writeFileSync(path(name), '');
    const at = Date.now() / 1000 - daysAgo * 24 * 3600;
    utimesSync(path(name), at, at);
  };
  mkdirSync(join(folder, 'v22'));
  write('old', 31);
  write('new', 29);
  pruneCompiled(folder);
  expect([existsSync(path('old')), existsSync(path('new'))]).toEqual([false, true]);
  write('old', 31);
  pruneCompiled(folder);
  expect(existsSync(path('old'))).toBe(true);
  rmSync(folder, { recursive: true });
  // There is none before the first start.
  pruneCompiled(folder);
});

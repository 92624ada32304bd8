import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { removeOldSets } from './old-sets.js';

it('removes what was not used for a month, and of the rest the oldest', () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-old-sets-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const usedDaysAgo = (path: string, days: number): void => {
    const time = Date.now() / 1000 - days * 24 * 3600;
    utimesSync(path, time, time);
  };
  for (let day = 0; day < 52; day++) {
    const set = join(folder, `set-${day}`);
    mkdirSync(set);
    writeFileSync(join(set, 'script'), '');
    usedDaysAgo(set, day / 10);
    const note = join(folder, `note-${day}.json`);
    writeFileSync(note, '');
    usedDaysAgo(note, day < 45 ? 0 : 31);
  }
  removeOldSets(folder);
  const left = readdirSync(folder);
  expect(left.filter((name) => name.startsWith('set'))).toHaveLength(50);
  expect(left).not.toContain('set-51');
  expect(left.filter((name) => name.startsWith('note'))).toHaveLength(45);
});

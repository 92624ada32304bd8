import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { createTrackerPackage } from 'create-acc-tracker';
import { tsc } from '../../../scripts/process.mjs';
import { run } from './packing.js';
import { newFolder } from './record-run.js';

const root = join(import.meta.dirname, '..', '..', '..');
const guide = readFileSync(join(root, 'packages', 'create-acc-tracker', 'GUIDE.md'), 'utf8');
const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;

/** The code of the guide, by the names of its files. */
const files = Array.from(
  guide.matchAll(/<!-- file: (\S+) -->\s*```typescript\n(.*?)^```/gms),
  ([, path, text]) => {
    return [path!, text!] as const;
  },
);

it('the tracker of "Write a tracker in an hour" passes the type check and the cases as written', async () => {
  expect(files.map(([path]) => path)).toEqual([
    'src/tracker.ts',
    'src/index.ts',
    'test/conformance.test.ts',
    'test/board.ts',
  ]);
  const dir = join(newFolder(), 'acc-tracker-board');
  createTrackerPackage({ name: 'board', dir });
  rmSync(join(dir, 'src'), { recursive: true });
  for (const [path, text] of files) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
  const conditions = ['--import', tsx];
  const printed = await run(process.execPath, [...conditions, '--test', 'test/conformance.test.ts'], dir);
  expect(printed).toMatch(/^# pass 1[0-9]$/m);
  expect(printed).toMatch(/^# fail 0$/m);
  await run(tsc, ['--noEmit', '--customConditions', '@acc/source'], dir);
});

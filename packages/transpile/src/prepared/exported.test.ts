import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { isExported } from './exported.js';

it.each<[string, unknown, string[]]>([
  ['no exports', undefined, ['index.js', 'inner.js', 'parts/a.js']],
  ['one', './index.js', ['index.js']],
  [
    'conditions',
    { '.': { import: './index.js', default: [{ node: './inner.js' }] }, './x': null },
    ['index.js', 'inner.js'],
  ],
  ['a pattern', { './*': './parts/*.js' }, ['parts/a.js']],
])('names the files of a package that others can import: %s', (_, exports, expected) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'acc-exported-')));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, 'parts'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'a', exports }));
  const files = ['index.js', 'inner.js', 'parts/a.js', 'parts/b.cjs'];
  const found = files.filter((name) => isExported(join(folder, name)));
  expect(found).toEqual(exports === undefined ? files : expected);
});

import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi, onTestFinished } from 'vitest';
import { recallProgram } from './remembered.js';
import { scriptArguments, tsxArguments } from './script-arguments.js';

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'acc-remembered-')));
  write({
    'package.json': '{ "type": "module", "name": "program" }',
    'train.ts': "import { a } from './sub/a.js';\nimport { one } from 'cjs';\nconsole.log(a, one);",
    'sub/a.ts': 'export const a = 1;',
    'tsconfig.json': '{ "extends": "./base.json" }',
    'base.json': '{ "compilerOptions": { "useDefineForClassFields": false } }',
    'node_modules/cjs/package.json': '{ "name": "cjs", "main": "main.js" }',
    'node_modules/cjs/main.js': `module.exports = require('./all.js');\n//${' '.repeat(2 ** 17)}`,
    'node_modules/cjs/all.js': 'exports.one = 1;',
  });
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Files of so many seconds ago: what has only just changed is not remembered. */
function write(files: Readonly<Record<string, string>>, secondsAgo = 60): void {
  const at = Date.now() / 1000 - secondsAgo;
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
    utimesSync(join(folder, name), at, at);
  }
}

const script = () => join(folder, 'train.ts');
const start = () => scriptArguments(script(), folder);
const recalled = () => recallProgram(script(), folder);

describe('a transpiled program', () => {
  it('is reused without esbuild while nothing changes', async () => {
    expect(recalled()).toBeUndefined();
    const [option, path] = await start();
    expect(option).toBe('--enable-source-maps');
    expect(recalled()).toBe(path);
    vi.doMock('./transpile-program.js', () => {
      throw new Error('esbuild was loaded');
    });
    onTestFinished(() => void vi.doUnmock('./transpile-program.js'));
    expect(await start()).toEqual([option, path]);
  });

  it.each<[string, Record<string, string>]>([
    ['the program', { 'train.ts': 'console.log(2);' }],
    ['a module', { 'sub/a.ts': 'export const a = 2;' }],
    ['what tsconfig.json extends', { 'base.json': '{ "compilerOptions": { "target": "es2022" } }' }],
    ['tsconfig.json', { 'tsconfig.json': '{}' }],
    ['package.json', { 'package.json': '{ "type": "module", "name": "other" }' }],
    ['a file that an import may mean, too', { 'sub/a.js': 'export const a = 3;' }],
    ['a nearer package.json', { 'sub/package.json': '{}' }],
    ['a nearer node_modules', { 'sub/node_modules/cjs/main.js': '' }],
    ['a package', { 'node_modules/cjs/main.js': `exports.one = 2;//${' '.repeat(2 ** 17)}` }],
    ['what a package gives on', { 'node_modules/cjs/all.js': 'exports.three = 3;' }],
  ])('is not reused after %s was added or changed', async (_, files) => {
    await start();
    expect(recalled()).toBeDefined();
    write(files, 30);
    expect(recalled()).toBeUndefined();
  });

  it('is not reused if its transpiled file is gone or its note is damaged', async () => {
    const [, path] = await start();
    rmSync(dirname(path!), { recursive: true });
    expect(recalled()).toBeUndefined();
    await start();
    expect(recalled()).toBe(path);
    const notes = join(folder, 'node_modules', '.cache', 'acc', 'programs');
    const [note] = readdirSync(notes);
    writeFileSync(join(notes, note!), readFileSync(join(notes, note!)).subarray(0, 40));
    expect(recalled()).toBeUndefined();
    expect(await start()).toEqual(['--enable-source-maps', path]);
  });

  it('is not stored if a file changed only just before, nor if tsx runs it', async () => {
    // In the future, because a start may take long.
    write({ 'sub/a.ts': 'export const a = 4;' }, -600);
    await start();
    expect(recalled()).toBeUndefined();
    write({ 'sub/a.ts': 'export const a = 4;', 'sub/a.js': '' });
    expect(await start()).toEqual(tsxArguments(script()));
    expect(recalled()).toBeUndefined();
  });
});

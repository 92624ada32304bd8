import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scriptArguments } from '../script-arguments.js';

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'acc-prepared-')));
  write(PROJECT);
});
afterEach(() => rmSync(folder, { recursive: true }));

const LARGE = `/* ${'large '.repeat(30_000)} */`;
const module = (name: string, exports: unknown): string =>
  JSON.stringify({ name, type: 'module', exports, version: '1.0.0' });

/** A project with packages that reach each other in all ways. */
const PROJECT = {
  'package.json': '{ "type": "module", "name": "program" }',
  'train.ts': `
    import { createRequire } from 'node:module';
    import * as one from '@acc/one';
    import { Shared as FromSub } from '@acc/two/sub';
    import { Shared } from '@acc/two';
    import big, { counted } from '@tensorflow/big';
    import outer from 'outer';
    const require = createRequire(import.meta.url);
    const same: Record<string, unknown> = {
      sub: FromSub === Shared,
      imported: one.Shared === Shared,
      required: require('@acc/two').Shared === Shared,
      ofCommonJs: outer.required === Shared,
      big: one.big === big && big === require('@tensorflow/big') && counted() === 1,
      late: (await one.late()).Shared === Shared,
      lateOutside: (await one.byName('outside')).Shared === Shared,
      lateByName: (await one.byName('@acc/two/sub')).Shared === Shared,
      lateInCommonJs: (await outer.imported('@acc/two')).Shared === Shared,
    };
    console.log(JSON.stringify(same));
    console.log(one.places, Shared.name, one.Other.name, one.nameOfOther(), Object.keys(one).join());
    const { strict } = one;
    console.log(strict(), String(globalThis.evaluated), await one.failed().catch((error) => error.code));
    try {
      one.fail();
    } catch (error) {
      console.log((error as Error).stack?.split('\\n').slice(0, 3).join('\\n'));
    }`,
  'node_modules/@acc/one/package.json': module('@acc/one', './dist/index.js'),
  'node_modules/@acc/one/dist/index.js': `
    import { readFileSync } from 'node:fs';
    import big from '@tensorflow/big';
    import { Shared } from '@acc/two';
    import * as two from '@acc/two';
    class Other extends Shared {}
    function helper() { return Other.name + helper.name + two.helper.name; }
    globalThis.evaluated = (globalThis.evaluated ?? '') + ' one';
    export const places = [import.meta.url, import.meta.filename, import.meta.dirname, typeof readFileSync];
    export const nameOfOther = helper;
    export const late = () => import('./late.js');
    export const byName = (name) => import(name);
    export const failed = () => import('missing');
    export const fail = () => { throw new Error('import(this)'); };
    export const strict = function () { return this === undefined; };
    export { big, Other, Shared };`,
  'node_modules/@acc/one/dist/late.js': "export { Shared } from '@acc/two';",
  'node_modules/@acc/two/package.json': module('@acc/two', { '.': './index.js', './sub': './sub.js' }),
  'node_modules/@acc/two/index.js': `
    class Other {}
    globalThis.evaluated = (globalThis.evaluated ?? '') + ' two';
    export function helper() { return new Other(); }
    export class Shared extends Other {}`,
  'node_modules/@acc/two/sub.js': "export { Shared } from './index.js';",
  'node_modules/@acc/three/package.json': module('@acc/three', './index.js'),
  'node_modules/@acc/three/index.js': "globalThis.evaluated = ' three';",
  'node_modules/@tensorflow/big/package.json': '{ "name": "@tensorflow/big", "main": "main.js" }',
  'node_modules/@tensorflow/big/main.js': `let count = 0; count++; ${LARGE}\nexports.counted = () => count;`,
  'node_modules/outer/package.json': '{ "name": "outer", "main": "main.js" }',
  'node_modules/outer/main.js': `
    exports.required = require('@acc/two').Shared;
    exports.imported = (name) => import(name);`,
  'node_modules/outside/package.json': module('outside', './index.js'),
  'node_modules/outside/index.js': "export { Shared } from '@acc/two';",
};

/** Files of a minute ago: what has only just changed is not remembered. */
function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    utimesSync(path, Date.now() / 1000 - 60, Date.now() / 1000 - 60);
  }
}

const cache = () => join(folder, 'cache', 'starts');
const settings = (env: Record<string, string> = {}) => ({
  ...process.env,
  ACC_CACHE_DIR: join(folder, 'cache'),
  ...env,
});
const start = (env?: Record<string, string>, nodeArgs: readonly string[] = []) =>
  scriptArguments(join(folder, 'train.ts'), folder, { env: settings(env), nodeArgs });

function run(nodeArguments: readonly string[]) {
  const options = { cwd: folder, encoding: 'utf8', env: settings() } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, nodeArguments, options);
  // A source map has paths in place of URLs.
  return { status, stdout: stdout.replaceAll('(file://', '('), stderr };
}

const isPrepared = (args: readonly string[]) =>
  readFileSync(join(dirname(args.at(-1)!), 'start.mjs'), 'utf8').includes('startPrepared');
const ordinary = async () => run(await start({ ACC_START_CACHE: 'false' }));
const sets = () => readdirSync(cache()).filter((name) => !name.endsWith('.json'));
const scriptIn = (set: string) => join(cache(), set, 'node_modules', '@acc', 'packages.js');
const codeIn = (set: string) =>
  readdirSync(join(cache(), set))
    .filter((name) => name.startsWith('code-'))
    .map((name) => join(cache(), set, name));

// Each starts Node several times, beside other tests that do.
const startsPrograms = { timeout: 120_000 };

describe('prepared packages', startsPrograms, () => {
  it('behave as packages that each process loads itself', async () => {
    const args = await start();
    expect(isPrepared(args)).toBe(true);
    const expected = await ordinary();
    expect(expected).toMatchObject({ status: 0, stderr: '' });
    const [same] = expected.stdout.split('\n');
    expect(Object.values(JSON.parse(same!) as object)).toEqual(Array(9).fill(true));
    expect(run(args)).toEqual(expected);
    // With the code that V8 kept.
    expect(codeIn(sets()[0]!)).toHaveLength(1);
    expect(run(args)).toEqual(expected);
    expect(run(await start())).toEqual(expected);
  });

  it('are those of the changed version after one changed, or was added nearer to another', async () => {
    await start();
    expect(sets()).toHaveLength(1);
    const changed = PROJECT['node_modules/@acc/two/index.js'].replace("' two'", "' 2.0.0'");
    write({ 'node_modules/@acc/two/index.js': changed });
    const second = run(await start());
    expect(second.stdout).toContain('true  2.0.0 one');
    expect(second).toEqual(await ordinary());
    const nearer = 'node_modules/@acc/one/node_modules/@acc/two';
    write({
      [`${nearer}/package.json`]: PROJECT['node_modules/@acc/two/package.json'],
      [`${nearer}/sub.js`]: PROJECT['node_modules/@acc/two/sub.js'],
      [`${nearer}/index.js`]: changed.replace('2.0.0', '3.0.0'),
    });
    const third = run(await start());
    expect(third.stdout).toContain('3.0.0');
    expect(third).toEqual(await ordinary());
    write({ 'node_modules/@tensorflow/big/main.js': `${LARGE}\nexports.counted = () => 2;` });
    const fourth = run(await start());
    expect(fourth.stdout).toContain('"big":false');
    expect(fourth).toEqual(await ordinary());
  });

  it.each<[string, (script: string) => void]>([
    ['is missing', (script) => rmSync(script)],
    ['is cut', (script) => writeFileSync(script, readFileSync(script).subarray(0, 1000))],
    ['is another of the same size', (script) => writeFileSync(script, 'x'.repeat(statSync(script).size))],
    ['can be written by others', (script) => chmodSync(script, 0o666)],
  ])('are not used if the script %s, and are prepared again', async (_, damage) => {
    const expected = await ordinary();
    const args = await start();
    const [set] = sets();
    const script = readFileSync(scriptIn(set!));
    damage(scriptIn(set!));
    expect(run(args)).toEqual(expected);
    const again = await start();
    expect(readFileSync(scriptIn(set!))).toEqual(script);
    expect(statSync(scriptIn(set!)).mode & 0o777).toBe(0o600);
    expect(run(again)).toEqual(expected);
  });

  it.each<[string, (code: string) => void]>([
    ['is cut', (code) => writeFileSync(code, readFileSync(code).subarray(0, 3000))],
    ['is empty', (code) => writeFileSync(code, '')],
    [
      'is changed',
      (code) => writeFileSync(code, `${readFileSync(code, 'latin1').slice(0, -9)}different`, 'latin1'),
    ],
    ['can be written by others', (code) => chmodSync(code, 0o622)],
  ])('are compiled again if the code %s', async (_, damage) => {
    const expected = await ordinary();
    const args = await start();
    expect(run(args)).toEqual(expected);
    const [code] = codeIn(sets()[0]!);
    damage(code!);
    const damaged = readFileSync(code!);
    expect(run(args)).toEqual(expected);
    expect(readFileSync(code!).equals(damaged)).toBe(false);
    expect(statSync(code!).mode & 0o777).toBe(0o600);
  });

  it('are not prepared if others can write to the cache, or nobody can', async () => {
    const expected = await ordinary();
    mkdirSync(cache(), { recursive: true });
    chmodSync(cache(), 0o777);
    const open = await start();
    expect([isPrepared(open), readdirSync(cache())]).toEqual([false, []]);
    expect(run(open)).toEqual(expected);
    rmSync(cache(), { recursive: true });
    writeFileSync(cache(), 'a file');
    const closed = await start();
    expect(isPrepared(closed)).toBe(false);
    expect(run(closed)).toEqual(expected);
  });

  it.each([
    ['--import=./hooks.mjs', {}],
    ['-C=own', {}],
    ['--inspect', {}],
    ['', { NODE_OPTIONS: '--max-old-space-size=99 --require ./hook.cjs' }],
    ['', { NODE_V8_COVERAGE: '/tmp/coverage' }],
    ['', { ACC_START_CACHE: '0' }],
  ])('are not used with the option %s and the variables %o', async (option, env) => {
    expect(isPrepared(await start(env, [option].filter(Boolean)))).toBe(false);
    expect(existsSync(cache())).toBe(false);
    expect(isPrepared(await start({ NODE_OPTIONS: '--max-old-space-size=99' }, ['--expose-gc']))).toBe(true);
  });

  it('refuse a switch that is neither true nor false', async () => {
    await expect(start({ ACC_START_CACHE: 'off' })).rejects.toMatchObject({ code: 'ACC_INVALID_OPTION' });
  });

  it('are not used if one awaits at its top, or imports what is no JavaScript', async () => {
    for (const text of [
      'await 0;\nexport const late = 1;',
      "import data from './data.json' with { type: 'json' };",
    ]) {
      const index = PROJECT['node_modules/@acc/one/dist/index.js'];
      write({
        'node_modules/@acc/one/dist/data.json': '{}',
        'node_modules/@acc/one/dist/index.js': `${text.replace('late', 'awaited')}\n${index}`,
      });
      const args = await start();
      expect(isPrepared(args)).toBe(false);
    }
  });

  it('are prepared without a package that cannot be', async () => {
    write({ 'node_modules/@acc/three/index.js': 'await 0;' });
    const args = await start();
    expect(isPrepared(args)).toBe(true);
    expect(run(args)).toEqual(await ordinary());
  });
});

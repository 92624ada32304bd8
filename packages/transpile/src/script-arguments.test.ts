import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { scriptArguments, tsxArguments } from './script-arguments.js';

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'acc-transpile-')));
  write({
    'package.json': '{ "type": "module", "name": "program" }',
    'node_modules/cjs/package.json': '{ "name": "cjs", "main": "main.js" }',
    'node_modules/cjs/main.js': "console.log('cjs', process.env.MADE_BY);\nexports.named = 1;",
    'node_modules/esm/package.json':
      '{ "name": "esm", "type": "module", "exports": { "import": "./main.js" } }',
    'node_modules/esm/main.js': 'export default 2;',
  });
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

const script = () => join(folder, 'train.ts');
const isTranspiled = async () => (await scriptArguments(script(), folder))[0] === '--enable-source-maps';

function run(nodeArguments: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...nodeArguments, 'a', '--b'], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

/** Runs the program as transpiled and by tsx: both must print the same. */
async function expectAsByTsx(files: Readonly<Record<string, string>>) {
  write(files);
  expect(await isTranspiled()).toBe(true);
  const transpiled = run(await scriptArguments(script(), folder));
  expect(transpiled).toEqual(run(tsxArguments(script())));
  return transpiled;
}

// Each starts Node several times, beside other tests that do.
describe('a transpiled program prints what it prints with tsx', () => {
  it('with imports of its own modules, whose paths are those of their sources, and of packages', async () => {
    const { stdout, stderr } = await expectAsByTsx({
      'train.ts': `
        #!/usr/bin/env node
        import './environment.js';
        import cjs, { named } from 'cjs';
        import esm from 'esm';
        import { Kind, Named, place } from './parts';
        import type { Options } from './only-types.js';
        const options: Options = { kind: Kind.second };
        console.log(process.argv.slice(1), import.meta.url, import.meta.dirname, import.meta.filename);
        console.log(place, options, named, cjs, esm, Named.name, new Named().field, process.execArgv.length > 0);
        const { late } = await import('./parts/late.ts');
        console.log(late);`.trim(),
      'environment.ts': "process.env.MADE_BY = 'the module before';",
      'only-types.ts': 'export interface Options { kind: number }',
      'parts/index.ts': `
        export enum Kind { first, second }
        export class Named { static self = Named; constructor(readonly field = 3) {} }
        export const place = import.meta.url;`,
      'parts/late.ts': "export const late: string = 'late';",
    });
    expect(stderr).toBe('');
    expect(stdout).toContain('cjs the module before');
  });

  it('with a large CommonJS package, whose exports are those that Node finds', async () => {
    const comment = `/* ${'large '.repeat(30_000)} */`;
    const { stdout } = await expectAsByTsx({
      'node_modules/large/package.json': '{ "name": "large", "main": "main.js" }',
      'node_modules/large/main.js': `${comment}
        console.log('large, after', process.env.MADE_BY);
        Object.defineProperty(exports, '__esModule', { value: true });
        function __export(from) { for (const name in from) if (!exports.hasOwnProperty(name)) exports[name] = from[name]; }
        const own = { got: 3 };
        exports.delete = 1; exports.default = 2;
        Object.defineProperty(exports, 'got', { enumerable: true, get: function () { return own.got; } });
        if (false) exports.never = 4;
        exports[['com', 'puted'].join('')] = 5;
        __export(require('./more.js'));`,
      'node_modules/large/more.js': "exports.more = 6; exports['not-a-name'] = 7;",
      'environment.ts': "process.env.MADE_BY = 'the module before';",
      'train.ts': `
        import './environment.js';
        import * as all from 'large';
        import whole, { got, more } from 'large';
        import { createRequire } from 'node:module';
        export * from 'large';
        console.log(Object.keys(all), { ...all }, got, more, whole === all.default);
        console.log(whole === createRequire(import.meta.url)('large'));`,
    });
    expect(stdout).toContain('large, after the module before');
  });

  it('for an error, with the lines of the sources', async () => {
    const { status, stdout, stderr } = await expectAsByTsx({
      'train.ts': `
        import { fail } from './fail.js';
        interface Nothing {}


        try {
          fail('caught');
        } catch (error) {
          console.log((error as Error).stack!.split('\\n').slice(0, 3).join());
        }
        fail('not caught');`,
      'fail.ts': `
        interface Nothing {}

        export function fail(what: string): never {
          throw new Error(what);
        }`,
    });
    expect(status).toBe(1);
    expect(stdout).toContain(`${join(folder, 'fail.ts')}:5:17`);
    expect(stdout).toContain(`${script()}:7:11`);
    expect(stderr).toContain(`${join(folder, 'fail.ts')}:5\n`);
    expect(stderr).toContain(`${script()}:11:9`);
  });

  it('with the options of tsconfig.json for the files that it includes', async () => {
    const program =
      'class Base { field?: number; constructor() { Object.assign(this, { field: 1 }); } }\n' +
      'class Own extends Base { declare x: number; override field?: number; }\nconsole.log(new Own().field);';
    const options = '"compilerOptions": { "useDefineForClassFields": false }';
    const included = await expectAsByTsx({
      'train.ts': program,
      'tsconfig.json': `{ ${options} /* and more */ }`,
    });
    const not = await expectAsByTsx({ 'tsconfig.json': `{ ${options}, "include": ["src"] }` });
    expect([included.stdout, not.stdout]).toEqual(['1\n', 'undefined\n']);
  });
});

describe('tsx runs a program', () => {
  it.each<[string, string, Record<string, string>?]>([
    ['that is CommonJS', '', { 'package.json': '{}' }],
    ['whose package.json is not JSON', '', { 'package.json': '{ "type": ' }],
    ['of which a module is CommonJS', "import './a.cjs';", { 'a.cts': '' }],
    ['that imports JSON', "import a from './a.json'; console.log(a);", { 'a.json': '1' }],
    ['that imports what cannot be found', "import './nothing.js';"],
    ['that makes names while it runs', 'await import(`./${process.argv[2]}.ts`);', { 'a.ts': '' }],
    ['that imports a package while it runs', "await import('cjs');"],
    ['that resolves names', "import.meta.resolve('./a.ts');", { 'a.ts': '' }],
    ['that starts workers', "import { Worker } from 'node:worker_threads'; Worker;"],
    ['that starts processes', "import { fork } from 'child_process'; fork;"],
    ['that names a TypeScript file to others', "console.log(new URL('./a.ts', import.meta.url));"],
    [
      'that requires its own files',
      "import { createRequire } from 'node:module';\ncreateRequire(import.meta.url)('./a');",
      { 'a.ts': '' },
    ],
    [
      'that imports its own package',
      "import 'program';",
      { 'package.json': '{ "type": "module", "name": "program", "exports": "./a.ts" }', 'a.ts': '' },
    ],
    ['whose import may mean two files', "import './a.js';", { 'a.ts': '', 'a.js': '' }],
    [
      'with paths in tsconfig.json',
      "import '~/a.js';",
      { 'a.ts': '', 'tsconfig.json': '{ "compilerOptions": { "paths": { "~/*": ["./*"] } } }' },
    ],
    [
      'in which a module has its own node_modules',
      "import './sub/a.js';",
      { 'sub/a.ts': '', 'sub/node_modules/cjs/index.js': '' },
    ],
    ['where nothing can be written', '', { 'node_modules/.cache': '' }],
  ])('%s', async (_, program, files = {}) => {
    write({ 'train.ts': program, ...files });
    expect(await scriptArguments(script(), folder)).toEqual(tsxArguments(script()));
  });
});

describe('scriptArguments', () => {
  it('leaves the program to tsx if its own variable names a tsconfig.json', async () => {
    write({ 'train.ts': '' });
    vi.stubEnv('TSX_TSCONFIG_PATH', join(folder, 'other.json'));
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await isTranspiled()).toBe(false);
  });

  it('returns JavaScript unchanged', async () => {
    expect(await scriptArguments('/a.mjs')).toEqual(['/a.mjs']);
    expect(tsxArguments('/a.js')).toEqual(['/a.js']);
  });

  it('returns the same path for the same sources, and another after one of them changed', async () => {
    write({ 'train.ts': "import './a.js';", 'a.ts': 'console.log(1)' });
    const before = await scriptArguments(script(), folder);
    expect(await scriptArguments(script(), folder)).toEqual(before);
    write({ 'a.ts': 'console.log(2)' });
    const after = await scriptArguments(script(), folder);
    expect(after).not.toEqual(before);
    expect([run(before).stdout, run(after).stdout]).toEqual(['1\n', '2\n']);
  });

  it('removes files that were not used for a month', async () => {
    write({ 'train.ts': 'console.log(1)' });
    const [, old] = await scriptArguments(script(), folder);
    utimesSync(dirname(old!), 0, 0);
    write({ 'train.ts': 'console.log(2)' });
    const [, other] = await scriptArguments(script(), folder);
    expect([old, other].map((path) => existsSync(path!))).toEqual([false, true]);
  });
});

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AccError } from '@acc/contract';
import { nodeProgram, resolveModule, resolveScript } from './script.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'acc-script-'));
  for (const name of ['train.ts', 'trail.ts', 'evaluate.mjs']) writeFileSync(join(folder, name), '');
  mkdirSync(join(folder, 'training'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const failure = (script: string): AccError => {
  try {
    resolveScript(script, folder);
  } catch (error) {
    return error as AccError;
  }
  return expect.unreachable();
};

it('resolveModule finds files of packages as an import does', () => {
  const here = join(folder, 'training');
  const package_ = join(here, 'node_modules', 'trainings');
  mkdirSync(package_, { recursive: true });
  const exports = { '.': { import: './main.mjs' }, './fine-tune': './tune.ts', './gone': './gone.js' };
  writeFileSync(join(package_, 'package.json'), JSON.stringify({ name: 'trainings', exports }));
  for (const name of ['main.mjs', 'tune.ts']) writeFileSync(join(package_, name), '');
  expect(resolveModule('trainings', here)).toBe(join(package_, 'main.mjs'));
  expect(resolveModule('trainings/fine-tune', here)).toBe(join(package_, 'tune.ts'));
  expect(resolveModule('./train.ts', folder)).toBe(join(folder, 'train.ts'));
  for (const name of ['trainings/gone', 'trainings/other', 'nowhere', 'node:fs'])
    expect(() => resolveModule(name, here)).toThrowError(
      expect.objectContaining({
        code: 'ACC_SCRIPT_NOT_FOUND',
        message: expect.not.stringContaining('[eval') as string,
      }) as Error,
    );
  expect(() => resolveModule('trainings/other', here)).toThrowError(/below "exports"/);
});

describe('resolveScript', () => {
  it('returns the absolute path', () => {
    expect(resolveScript('train.ts', folder)).toBe(join(folder, 'train.ts'));
    expect(resolveScript(join(folder, 'train.ts'), '/')).toBe(join(folder, 'train.ts'));
  });

  it('suggests the nearest file, and first one of the same name with another extension', () => {
    const nearest = (script: string): unknown => failure(script).details.nearest;
    expect(failure('train.js').code).toBe('ACC_SCRIPT_NOT_FOUND');
    expect(nearest('train.js')).toBe(join(folder, 'train.ts'));
    expect(nearest('train')).toBe(join(folder, 'train.ts'));
    expect(nearest('evalute.mjs')).toBe(join(folder, 'evaluate.mjs'));
    expect(nearest('zzzzzzzz')).toBeUndefined();
    expect(nearest('nowhere/train.ts')).toBeUndefined();
    expect(failure('train.ts/x.ts').code).toBe('ACC_SCRIPT_NOT_FOUND');
  });

  it.each([
    ['base.txt', 'Hello', 'no program, but a file of the kind .txt', 'npx acc launch train.ts base.txt'],
    ['run.py', 'import torch', 'a program in Python', 'This launches JavaScript'],
    ['trail.json', '{}', 'no program', "Did you mean 'trail.ts'?"],
    ['settings.yaml', 'a: 1', 'no program', '--config-file settings.yaml'],
    ['page.html', '', 'no program', 'in a browser'],
    ['start', '#!/usr/bin/env -S bash -e\n', 'a program in bash', 'This launches JavaScript'],
    ['tool', '#!/usr/bin/env python3\n', 'a program in python3', 'torchrun'],
    ['a.out', '\x7fELF\0', 'a binary file', 'npx acc launch train.ts a.out'],
    ['page.jsx', '<p/>;', "has a mistake: Unexpected token '<'", 'Rename it to .tsx'],
    ['a.v3', 'import x from "y";', 'Cannot use import statement', 'rename it to .mjs'],
  ])('refuses %s, and says what to do', (name, text, what, help) => {
    writeFileSync(join(folder, name), text);
    const error = failure(name);
    expect(error).toMatchObject({ code: 'ACC_SCRIPT_KIND' });
    expect(error.message).toContain(what);
    expect(error.help).toContain(help);
  });

  it.each([
    ['tool', '#!/usr/bin/env node\nimport "x";'],
    ['other', 'import "x";'],
    ['train.v1', '#!/usr/bin/node\nconsole.log(1)'],
    ['train.MJS', ''],
  ])('takes %s', (name, text) => {
    writeFileSync(join(folder, name), text);
    expect(resolveScript(name, folder)).toBe(join(folder, name));
  });

  it('refuses a folder', () => {
    expect(failure('training').code).toBe('ACC_SCRIPT_NOT_FILE');
  });
});

describe('nodeProgram', () => {
  /** Without the options of V8 in front. */
  const given = async (script: string) => {
    const [, ...all] = await nodeProgram(script, ['-x']);
    return all.slice(all.findIndex((argument) => !/^--(?:no-|import=)/.test(argument)));
  };

  it('loads tsx for TypeScript only', async () => {
    for (const name of ['a.ts', 'a.mts', 'a.cts', 'a.tsx']) {
      const script = join(folder, name);
      writeFileSync(script, '');
      expect(await given(script)).toEqual(['--import', expect.stringMatching(/^file:.*tsx/), script, '-x']);
    }
    for (const script of ['/a.js', '/a.mjs', '/a.cjs', '/a', '/ts']) {
      expect(await given(script)).toEqual([script, '-x']);
    }
  });

  it('runs CommonJS with an extension that Node.js does not know', async () => {
    const script = join(folder, 'train.v2');
    writeFileSync(script, 'console.log(typeof require);');
    const [node, ...args] = await nodeProgram(script, []);
    expect(spawnSync(node, args, { encoding: 'utf8' }).stdout).toBe('function\n');
  });

  it('passes only V8 options that this Node.js knows, also if the script starts workers', async () => {
    const script = join(folder, 'worker.mjs');
    const program = `import { Worker } from 'node:worker_threads';
      new Worker('require("node:worker_threads").parentPort.postMessage(1)', { eval: true })
        .on('message', () => console.log(process.execArgv.join(' ')));`;
    writeFileSync(script, program);
    const [node, ...args] = await nodeProgram(script, []);
    const { stdout } = spawnSync(node, args, { encoding: 'utf8' });
    expect(stdout).toMatch(
      /^--no-allocation-site-pretenuring --no-parallel-scavenge --import=file:.*report-errors\.js\n$/,
    );
  });
});

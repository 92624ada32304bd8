import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { byTestFile, readProcesses } from './observe.js';

const HOOK = join(import.meta.dirname, 'process.cjs');
const PROGRAM = `
import { execFileSync, spawn } from 'node:child_process';
const used = () => 1;
const unused = () => 2;
used();
if (process.argv[2]) execFileSync(process.execPath, [process.argv[2]], { env: {} });
if (process.argv[3]) spawn(process.execPath, [process.argv[3]], { env: { NODE_OPTIONS: '--no-warnings' } });
`;

it('a process and those that it starts write what they executed', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'acc-executed-')));
  mkdirSync(join(folder, 'tests'));
  const names = ['outer.mjs', 'inner.mjs', 'other.mjs'];
  const [outer, inner, other] = names.map((name) => join(folder, 'tests', name));
  for (const path of [outer, inner, other]) writeFileSync(path!, PROGRAM);
  const records = join(folder, 'records');
  execFileSync(process.execPath, [outer!, inner!, other!], {
    env: { ...process.env, NODE_OPTIONS: `--require=${HOOK}`, ACC_RECORD_FOLDER: records },
  });
  const processes = readProcesses(records);
  const of = (name: string) =>
    processes.find(({ scripts }) => scripts.some(({ url }) => url.endsWith(name)))!;
  expect(processes).toHaveLength(3);
  // Also those that get another environment.
  for (const name of ['inner.mjs', 'other.mjs']) expect(of(name).parent).toBe(of('outer.mjs').id);
  const starts = of('inner.mjs').scripts[0]!.starts;
  expect(starts).toContain(PROGRAM.indexOf('() => 1'));
  expect(starts).not.toContain(PROGRAM.indexOf('() => 2'));
});

it('processes belong to the test file that started them', () => {
  const script = { scripts: [] };
  const tests = byTestFile([
    { ...script, id: '1', testFile: '/a.test.ts' },
    { ...script, id: '2', parent: '1' },
    { ...script, id: '3', parent: '2' },
    { ...script, id: '4', parent: 'vitest' },
  ]);
  expect([...tests].map(([file, records]) => [file, ...records.map(({ id }) => id)])).toEqual([
    ['/a.test.ts', '1', '2', '3'],
  ]);
});

it('a worker thread that is terminated has written what it executed before its last message', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'acc-executed-')));
  mkdirSync(join(folder, 'tests'));
  const [program, worker] = ['program.mjs', 'worker.mjs'].map((name) => join(folder, 'tests', name));
  writeFileSync(
    program!,
    `import { Worker } from 'node:worker_threads';
const program = "import(require('node:worker_threads').workerData)";
const worker = new Worker(program, { eval: true, workerData: process.argv[2] });
worker.on('message', () => worker.terminate());`,
  );
  const text = `import { parentPort } from 'node:worker_threads';
const answer = () => 42;
parentPort.postMessage(answer());
setInterval(() => {}, 1000);`;
  writeFileSync(worker!, text);
  const records = join(folder, 'records');
  execFileSync(process.execPath, [program!, worker!], {
    env: { ...process.env, NODE_OPTIONS: `--require=${HOOK}`, ACC_RECORD_FOLDER: records },
  });
  const scripts = readProcesses(records).flatMap((each) => each.scripts);
  const { starts } = scripts.find(({ url }) => url.endsWith('worker.mjs'))!;
  expect(starts).toContain(text.indexOf('() => 42'));
});

it('a process that is killed has written what it executed before its last answer', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'acc-executed-')));
  mkdirSync(join(folder, 'tests'));
  const [program, child] = ['program.mjs', 'child.mjs'].map((name) => join(folder, 'tests', name));
  writeFileSync(
    program!,
    `import { fork } from 'node:child_process';
const child = fork(process.argv[2]);
child.on('message', () => child.kill('SIGKILL'));`,
  );
  const text = `const answer = () => 42;
process.send(answer());
setInterval(() => {}, 1000);`;
  writeFileSync(child!, text);
  const records = join(folder, 'records');
  execFileSync(process.execPath, [program!, child!], {
    env: { ...process.env, NODE_OPTIONS: `--require=${HOOK}`, ACC_RECORD_FOLDER: records },
  });
  const processes = readProcesses(records);
  const killed = processes.find(({ scripts }) => scripts.some(({ url }) => url.endsWith('child.mjs')))!;
  expect(killed.scripts[0]!.starts).toContain(text.indexOf('() => 42'));
  expect(processes.map(({ id }) => id)).toContain(killed.parent);
});

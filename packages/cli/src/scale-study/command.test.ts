import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture, runAcc } from '../../fixtures/run-acc.js';

let folder = '';
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'acc-scale-study-'))));
afterAll(() => rmSync(folder, { recursive: true }));

const study = (script: string, ...args: string[]) =>
  runAcc(['scale-study', fixture(script), ...args], { cwd: folder });

it('a program that fails is an error with the number of ranks, and its own error last', async () => {
  const { code, stdout, stderr } = await study('fails-on-ranks.mjs', '--ranks', '2,3', '--', '2');
  expect(code).toBe(2);
  expect(stdout).toBe('');
  expect(stderr).toMatch(/acc: the study ended early; .* has 0 finished runs and no report/);
  expect(stderr).toContain('acc: ACC_STUDY_RUN: The program failed on 2 ranks, in turn 1:\n');
  expect(stderr.trimEnd()).toMatch(/Error: no room for so many(\n.*fails-on-ranks\.mjs:2:\d+\)?)?$/);
});

it('a program without records is told how to keep them', async () => {
  const { code, stderr } = await study('fails-on-ranks.mjs', '--ranks', '1,2', '--', '9');
  expect(code).toBe(2);
  expect(stderr).toContain('ACC_STUDY_RECORDS: The program kept no records on 1 rank.');
  expect(stderr).toContain('initTrackers');
});

it.each([
  [['--ranks', '2'], 'ACC_BAD_OPTION', 'at least two different numbers'],
  [['--ranks', '2,2'], 'ACC_BAD_OPTION', 'at least two different numbers'],
  [['--ranks', '1,100000'], 'ACC_BAD_OPTION', 'Leave out numbers of ranks above'],
  [['--ranks', '1,2', '--turns', '0'], 'ACC_BAD_OPTION', 'above 0'],
  [['--ranks', '1,2', '--weak', '--strong'], 'ACC_USAGE', '--strong'],
  [[], 'ACC_USAGE', '--ranks'],
  [['--epochs', '1', '--ranks', '1,2'], 'ACC_UNKNOWN_OPTION', '→ Options of the program stand after --: '],
])('%j is refused', async (args, code, text) => {
  const { stderr } = await study('fails-on-ranks.mjs', ...args);
  expect(stderr).toContain(code);
  expect(stderr).toContain(text);
  expect(stderr).not.toContain('turn 1');
});

it('a folder that cannot be written is refused before anything runs', async () => {
  writeFileSync(join(folder, 'taken'), '');
  const { stderr } = await study('fails-on-ranks.mjs', '--ranks', '1,2', '--output', 'taken');
  expect(stderr).toContain('ACC_STUDY_FOLDER');
  expect(stderr).not.toContain('turn 1');
});

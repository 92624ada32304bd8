import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runRanks } from '@acc/testkit';
import { scriptArguments } from '@acc/transpile';

type Results = Record<string, unknown>;

let folder: string;
let ranks: Results[];
let warnings: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acc-failing-'));
  const script = new URL('./ranks/failing.ts', import.meta.url);
  const results = await runRanks<Results>({
    script,
    ranks: 2,
    args: [folder],
    env: { OMP_NUM_THREADS: '1' },
  });
  for (const { exitCode, stderr } of results) expect(exitCode, stderr).toBe(0);
  ranks = results.map(({ result }) => result!);
  warnings = results[0]!.stderr;
});
afterAll(() => rm(folder, { recursive: true }));

const FULL = {
  code: 'ACC_CHECKPOINT_SAVE_FAILED',
  ranks: { '1': expect.stringContaining('ENOSPC') as string },
};

it.each<[string, unknown]>([
  ['saved', expect.stringContaining('step-00000001')],
  ['cannot write', FULL],
  ['behind', expect.stringContaining('step-00000002')],
  ['told by the next', FULL],
  ['or when it is waited for', FULL],
  ['nothing is left', true],
  ['cannot be kept', { code: 'ACC_STATE_INVALID', ranks: null }],
  ['goes on', 'undefined'],
  ['saved again', expect.stringContaining('step-00000001')],
  ['reads something else', { code: 'ACC_CHECKPOINT_NOT_FOUND', ranks: null }],
  ['weight stays', -4],
  ['loads', { path: expect.stringContaining('step-00000001') as string, step: 1, epoch: 0 }],
  ['weight', -3],
  [
    'is not sure',
    { code: 'ACC_CHECKPOINT_SAVE_FAILED', ranks: { '0': expect.stringContaining('EIO') as string } },
  ],
  [
    'loads what may be there',
    { path: expect.stringContaining('step-00000001') as string, step: 1, epoch: 0 },
  ],
  ['its weight', -4],
])('both ranks: %s', (what, expected) => {
  for (const rank of ranks) expect(rank[what]).toEqual(expected);
});

it("onError 'warn' causes one warning", () => {
  expect(warnings.match(/ACC_CHECKPOINT_SAVE_FAILED/g)).toHaveLength(1);
  // The damaged checkpoint is the only one.
  expect(warnings.match(/ACC_CHECKPOINT_CORRUPT/g)).toHaveLength(1);
  expect(warnings).not.toContain('Trying the checkpoint before it');
});

it('a save waits until the process has file descriptors again', async () => {
  const script = fileURLToPath(new URL('./ranks/few-files.ts', import.meta.url));
  const program = [process.execPath, ...(await scriptArguments(script)), join(folder, 'few')];
  const { stdout, stderr } = await promisify(execFile)('sh', [
    '-c',
    'ulimit -n 128; exec "$@"',
    'sh',
    ...program,
  ]);
  const [refused, saved, loaded] = stdout.trim().split('\n').slice(-3);
  expect(refused, stderr).toBe('EMFILE');
  expect(saved).toContain('step-00000002');
  expect(loaded).toBe('step 2, weight -2');
});

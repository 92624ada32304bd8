import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { diagnose, readRecords } from './read-records.js';

const recorded = fileURLToPath(new URL('testing/runs/rank-1-computes-twice-as-much', import.meta.url));

/** A new folder with a run: `<folder>/runs/mnist/1/insight`. */
function newRun(): { readonly folder: string; readonly run: string; readonly insight: string } {
  const folder = mkdtempSync(join(tmpdir(), 'acc-diagnose-'));
  const run = join(folder, 'runs', 'mnist', '1');
  const insight = join(run, 'insight');
  mkdirSync(run, { recursive: true });
  cpSync(recorded, insight, { recursive: true });
  return { folder, run, insight };
}

const code = (expected: string, help: RegExp) => ({
  code: expected,
  help: expect.stringMatching(help) as string,
});

it('a run is found by its folder, by that of its records, and by a file', async () => {
  const { run, insight } = newRun();
  for (const path of [run, insight, join(insight, 'steps-rank-1.acc')])
    expect((await readRecords(path)).ranks.map(({ rank }) => rank)).toEqual([0, 1]);
});

it('a folder without records is an error that names the runs below', async () => {
  const { folder, run } = newRun();
  await expect(diagnose(folder)).rejects.toMatchObject(code('ACC_RECORDS_MISSING', /runs.mnist.1/));
  rmSync(join(run, 'insight'), { recursive: true });
  await expect(diagnose(run)).rejects.toMatchObject(
    code('ACC_RECORDS_MISSING', /autoLog: true.* before its second step/),
  );
  await expect(diagnose(join(run, 'gone'))).rejects.toMatchObject(code('ACC_RECORDS_MISSING', /autoLog/));
});

it('another version of the format, and records without a step, are errors', async () => {
  const { run, insight } = newRun();
  for (const rank of [0, 1]) writeFileSync(join(insight, `steps-rank-${rank}.acc`), '');
  await expect(diagnose(run)).rejects.toMatchObject(code('ACC_RECORDS_EMPTY', /longer/));
  writeFileSync(join(insight, 'steps-rank-0.acc'), 'ACR0 and more than that');
  await expect(diagnose(run)).rejects.toMatchObject(code('ACC_RECORDS_FORMAT', /version/));
  writeFileSync(join(insight, 'steps-rank-0.acc'), 'text');
  await expect(diagnose(run)).rejects.toMatchObject(code('ACC_RECORDS_FORMAT', /record the run again/));
});

it.each([undefined, {}, 4, new URL('file:///runs'), { ranks: [{}], problems: [] }])(
  'no path and no records: %o',
  async (given) => {
    const error = code('ACC_INVALID_ARGUMENT', /folder of a run/);
    await expect(diagnose(given as string)).rejects.toMatchObject(error);
  },
);

it('options are checked', async () => {
  const { run } = newRun();
  const judged = (options: object) => diagnose(run, options);
  await expect(judged({ detector: [] })).rejects.toMatchObject(code('ACC_UNKNOWN_OPTION', /detectors/));
  for (const detectors of [{}, [{}], [null]])
    await expect(judged({ detectors })).rejects.toMatchObject(code('ACC_INVALID_OPTION', /array/));
});

it('a file that cannot be read is an error, and damaged samples are a problem', async () => {
  const { run, insight } = newRun();
  writeFileSync(join(insight, 'samples-rank-0.acc'), 'text');
  expect((await diagnose(run)).problems).toEqual([expect.stringContaining('is no file of records')]);
  const steps = join(insight, 'steps-rank-0.acc');
  rmSync(steps);
  mkdirSync(steps);
  await expect(diagnose(run)).rejects.toMatchObject(code('ACC_RECORDS_MISSING', /user read/));
});

it('a torn end and a rank without records are told, and the rest is judged', async () => {
  const { run, insight } = newRun();
  appendFileSync(join(insight, 'steps-rank-0.acc'), 'ACR1 torn');
  for (const name of readdirSync(insight).filter((each) => each.includes('rank-1')))
    rmSync(join(insight, name));
  const { problems, ranks } = await diagnose(run);
  expect(ranks).toEqual([0]);
  expect(problems).toEqual([
    expect.stringContaining('9 bytes are no whole block'),
    expect.stringContaining('No steps of rank 1, of 2 ranks'),
  ]);
});

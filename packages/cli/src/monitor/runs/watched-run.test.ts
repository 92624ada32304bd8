import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Diagnosis } from '@acc/records';
import { expect, it } from 'vitest';
import { describeRun, drawCurves } from '../server/describe.js';
import { RunSet } from './run-set.js';
import type { WatchedRun } from './watched-run.js';

const recorded = fileURLToPath(
  new URL('../../../../records/src/testing/runs/rank-1-computes-twice-as-much', import.meta.url),
);

interface Run {
  readonly runs: RunSet;
  readonly run: WatchedRun;
  readonly folder: string;
  readonly insight: string;
}

/** A run of 2 ranks in a folder of its own. */
async function openRun(prepare: (insight: string) => void = () => undefined): Promise<Run> {
  const folder = join(mkdtempSync(join(tmpdir(), 'acc-watched-')), 'mnist', '1');
  const insight = join(folder, 'insight');
  mkdirSync(folder, { recursive: true });
  cpSync(recorded, insight, { recursive: true });
  prepare(insight);
  const runs = new RunSet([folder]);
  return { runs, run: (await runs.open('r0'))!, folder, insight };
}

const steps = (run: WatchedRun) => run.ranks.map(({ stepCount }) => stepCount);

it('reads what is appended, and ignores an end that is not whole yet', async () => {
  let last = Buffer.alloc(0);
  const { run, runs, insight } = await openRun((folder) => {
    const path = join(folder, 'steps-rank-0.acc');
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.subarray(0, bytes.length - 10));
    last = bytes.subarray(bytes.length - 10);
  });
  const [before, all] = steps(run) as [number, number];
  expect(before).toBeLessThan(all);
  expect(await runs.refresh()).toBe(false);
  appendFileSync(join(insight, 'steps-rank-0.acc'), last);
  expect(await runs.refresh()).toBe(true);
  expect(steps(run)).toEqual([all, all]);
});

it('has the verdict, the times of ranks, and the alerts of the run', async () => {
  const { run, runs, folder } = await openRun();
  const details = await describeRun(run);
  expect(details).toMatchObject({ rankCount: 2, isLive: false, hasAlertFile: false, error: undefined });
  const { findings } = details.verdict as Diagnosis;
  expect(findings.find(({ id }) => id === 'slow-rank')?.ranks).toEqual([1]);
  const [fast, slow] = details.ranks;
  expect([fast!.longer.includes('waiting'), slow!.longer.includes('backward')]).toEqual([true, true]);
  const { step, ...phases } = slow!.phases!;
  expect(Object.values(phases).reduce((sum, ms) => sum + ms, 0)).toBeCloseTo(step, 6);
  const alert = { _step: 7, _timeMs: 0, _text: { 'alerts/slow-rank': 'Rank 1 is slow.' } };
  const lines = [JSON.stringify({ _step: 7, loss: 1 }), JSON.stringify(alert), '{"_text": {"alerts/torn'];
  writeFileSync(join(folder, 'metrics.jsonl'), lines.join('\n'));
  expect(await runs.refresh()).toBe(true);
  expect((await describeRun(run)).alerts).toEqual([{ kind: 'slow-rank', step: 7, text: 'Rank 1 is slow.' }]);
});

it('draws a curve for each rank where ranks differ, and one for each of several runs', async () => {
  const { run } = await openRun();
  const request = { axis: 'step', width: 100, range: undefined } as const;
  const series = (runs: readonly WatchedRun[], id: string) =>
    drawCurves(runs, request)
      .curves.find((curve) => curve.id === id)!
      .series.map(({ rank }) => rank);
  expect([series([run], 'stepMs'), series([run], 'loss')]).toEqual([[0, 1], [0]]);
  expect(series([run, run], 'stepMs')).toEqual([0, 0]);
});

it('keeps the figures of a folder that disappears, and reads it anew when it is back', async () => {
  const { run, runs, insight, folder } = await openRun();
  const before = steps(run);
  rmSync(folder, { recursive: true });
  expect(await runs.refresh()).toBe(true);
  expect(run.error?.code).toBe('ACC_MONITOR_RUN_GONE');
  expect(steps(run)).toEqual(before);
  cpSync(recorded, insight, { recursive: true });
  writeFileSync(join(insight, 'steps-rank-1.acc'), '');
  expect(await runs.refresh()).toBe(true);
  expect(run.error).toBeUndefined();
  expect(steps(run)).toEqual([before[0], 0]);
});

it('another format is an error of that run alone', async () => {
  const { run, runs } = await openRun((insight) =>
    writeFileSync(join(insight, 'steps-rank-0.acc'), 'ACR0 old'),
  );
  for (let i = 0; i < 2; i++) {
    const { error, verdict } = await describeRun(run);
    expect([error?.code, verdict]).toEqual(['ACC_RECORDS_FORMAT', error]);
    await runs.refresh();
  }
  await expect(runs.check()).rejects.toMatchObject({ code: 'ACC_RECORDS_FORMAT' });
});

it('reads a file anew that another run has written in its place, also a longer one', async () => {
  const { run, runs, insight } = await openRun();
  const [before] = steps(run) as [number];
  for (const rank of [0, 1]) {
    const path = join(insight, `steps-rank-${rank}.acc`);
    const bytes = readFileSync(path);
    writeFileSync(path, Buffer.concat([Buffer.from('ACR1 torn'), bytes, bytes]));
  }
  expect(await runs.refresh()).toBe(true);
  expect(steps(run)).toEqual([2 * before, 2 * before]);
});

it('keeps only the curves that are drawn', async () => {
  const { run } = await openRun((insight) => {
    for (let rank = 2; rank < 10; rank++)
      cpSync(join(insight, 'steps-rank-1.acc'), join(insight, `steps-rank-${rank}.acc`));
  });
  const kept = run.ranks.map(({ series }) => ['loss', 'stepMs'].filter((id) => series[id]).length);
  expect(kept).toEqual([2, 1, 1, 1, 1, 1, 1, 1, 0, 0]);
  const request = { axis: 'step', width: 100, range: undefined } as const;
  const stepMs = drawCurves([run], request).curves.find(({ id }) => id === 'stepMs')!;
  expect([stepMs.series.length, stepMs.hiddenRanks]).toEqual([8, 2]);
});

it('a run is the same one by each path to it', async () => {
  const { folder, insight } = await openRun();
  const { summaries } = new RunSet([folder, join(folder, '..'), relative(process.cwd(), insight)]);
  expect(summaries.map(({ name }) => name)).toEqual(['mnist/1']);
});

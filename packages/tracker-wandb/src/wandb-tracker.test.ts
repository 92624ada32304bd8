import { appendFileSync, mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { RunInfo, Tracker } from '@acc/contract';
import { rowsUnder } from './testing/read-log.js';
import { wandbTracker, type WandbHandle } from './wandb-tracker.js';

let run: RunInfo;
beforeEach(() => {
  const dir = mkdtempSync(join(tmpdir(), 'acc-wandb-'));
  const place = { dir, rank: 0, size: 1, startTimeMs: Date.now() };
  run = { project: 'digits', id: 'r1', name: 'first', tags: {}, ...place };
});
afterEach(() => rmSync(run.dir, { recursive: true }));

const { signal } = new AbortController();
const stamp = { sequence: 0, timeMs: Date.now(), signal };
const log = (tracker: Tracker, step: number, metrics: Record<string, number>) =>
  tracker.logBatch!([{ step, metrics, sequence: 0, timeMs: stamp.timeMs }], stamp);
const dirOf = (tracker: Tracker) => (tracker.client as WandbHandle).dir;

async function begin(isResumed = false): Promise<Tracker> {
  const tracker = wandbTracker({ upload: 'never' });
  await (isResumed ? tracker.resume!(run, run.id) : tracker.start(run));
  return tracker;
}

it('the next process completes the log of a killed one with the row of its last step', async () => {
  const killed = await begin();
  await log(killed, 0, { loss: 1 });
  await log(killed, 1, { loss: 0.5 });
  await killed.logText!(1, 'note', 'half', stamp);
  await log(killed, 1, { accuracy: 0.75 });
  await killed.logConfig!({ lr: 1 }, stamp);
  expect(rowsUnder(run.dir)).toEqual([{ _step: 0, loss: 1 }]);

  const next = await begin(true);
  const rows = [
    { _step: 0, loss: 1 },
    { _step: 1, loss: 0.5, note: 'half', accuracy: 0.75 },
  ];
  expect(rowsUnder(run.dir)).toEqual(rows);
  await log(next, 0, { loss: 0.25 });
  await next.finish('completed');
  await (await begin(true)).finish('completed');
  expect(rowsUnder(run.dir)).toEqual([...rows, { _step: 0, loss: 0.25 }]);
});

it('the half-written record of a killed process is removed before its last row', async () => {
  const killed = await begin();
  await log(killed, 0, { loss: 1 });
  appendFileSync(join(dirOf(killed), 'run-r1.wandb'), Buffer.alloc(100, 7));
  await (await begin(true)).finish('failed');
  expect(rowsUnder(run.dir)).toEqual([{ _step: 0, loss: 1 }]);
});

it('a long row is replaced by a short one', async () => {
  const killed = await begin();
  await killed.logText!(0, 'note', 'long '.repeat(10_000), stamp);
  await log(killed, 1, { loss: 1 });
  await begin(true);
  expect(rowsUnder(run.dir)).toMatchObject([{ _step: 0 }, { _step: 1, loss: 1 }]);
});

it('no row is kept of a run that has ended', async () => {
  const tracker = await begin();
  for (const step of [0, 1, 2]) await log(tracker, step, { loss: step });
  await log(tracker, 3, { 'system/cpu': 1 });
  expect(readdirSync(dirOf(tracker))).toContain('row.txt');
  await tracker.finish('completed');
  expect(readdirSync(dirOf(tracker)).sort()).toEqual(['files', 'run-r1.wandb']);
  expect(rowsUnder(run.dir).map(({ _step }) => _step)).toEqual([0, 1, 2]);
});

it('a half-written kept row is ignored', async () => {
  const killed = await begin();
  await log(killed, 0, { loss: 1 });
  truncateSync(join(dirOf(killed), 'row.txt'), 20);
  await (await begin(true)).finish('failed');
  expect(rowsUnder(run.dir)).toEqual([]);
});

import { appendFileSync, mkdtempSync, readFileSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { joinSamples, parseRecords, STEP_COLUMNS, type SampleRow, type StepRow } from './format.js';
import { Recorder, type StepFigures } from './recorder.js';

const figuresOf = (step: number) =>
  ({
    ...Object.fromEntries(STEP_COLUMNS.map((name, i) => [name, 100 * step + i])),
    step,
  }) as unknown as StepFigures;

function record(folder: string, steps: readonly number[]): void {
  const recorder = new Recorder({ folder, rank: 0, hasNative: false });
  for (const step of steps) {
    recorder.endStep();
    recorder.step(figuresOf(step), false);
  }
  recorder.close();
}

it('rows survive a torn block, bytes of others, and a process that goes on', async () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'acc-records-')), 'insight');
  const path = join(folder, 'steps-rank-0.acc');
  record(folder, [1, 2, 3]);
  const whole = readFileSync(path).length;
  record(folder, [4, 5]);
  truncateSync(path, readFileSync(path).length - 1);
  const torn = await parseRecords<StepRow>(readFileSync(path));
  expect(torn.map(({ step }) => step)).toEqual([1, 2, 3]);
  expect(readFileSync(path).length).toBeGreaterThan(whole);
  appendFileSync(path, 'ACR1 is a word of the format');
  record(folder, [6]);
  const rows = await parseRecords<StepRow>(readFileSync(path));
  expect(rows.map(({ step }) => step)).toEqual([1, 2, 3, 6]);
  const { optimizer, start, collectives, replay, flops } = rows[1]!;
  expect({ optimizer, collectives, replay, flops }).toEqual({
    optimizer: 205,
    collectives: 0,
    replay: 0,
    flops: NaN,
  });
  expect(start).toBeCloseTo(performance.timeOrigin + 201, 2);
});

it('steps get the last sample before their end', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-records-'));
  record(folder, [1]);
  const samples = await parseRecords<SampleRow>(readFileSync(join(folder, 'samples-rank-0.acc')));
  expect(samples.length).toBeGreaterThan(0);
  expect(samples[0]!.rssBytes).toBeGreaterThan(2 ** 20);
  const ends = [samples[0]!.time - 1, samples[0]!.time + 1];
  const joined = joinSamples(
    ends.map((end) => ({ end }) as StepRow),
    samples.slice(0, 1),
  );
  expect(joined.map(({ sample }) => sample)).toEqual([undefined, samples[0]]);
});

import { beforeAll, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from './on-ranks.js';

interface Result {
  /** After each micro-batch, by steps and by samples. */
  rates: [number, number][];
  critical: number;
  weights: number[];
}

let alone: Result;
let pair: Result[];

beforeAll(async () => {
  const module = new URL('./ranks/schedule.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1' };
  const run = (ranks: number) => onRanks<Result>({ module, ranks, env });
  alone = (await run(1))[0]!;
  pair = await run(2);
});

it('schedules give the same rates on any number of ranks, and scaling multiplies them on request', () => {
  for (const { rates } of pair) {
    expect(rates.map(([bySteps]) => bySteps)).toEqual(alone.rates.map(([bySteps]) => bySteps));
    expectClose(
      rates.map(([, bySamples]) => bySamples),
      alone.rates.map(([, bySamples]) => 2 * bySamples),
      { rtol: 1e-12 },
    );
  }
  // 20 micro-batches of 12 samples are 10 steps, or 240 of 1,000 samples.
  expect(alone.rates.at(-1)![1]).toBeCloseTo(0.1 * (1 - 0.24), 12);
});

it('the noise scale is the same on every rank', () => {
  expect(alone.critical).toBeGreaterThan(0);
  expect(pair[1]!.critical).toBe(pair[0]!.critical);
  // The estimate uses smaller batches, so it differs.
  expect(pair[0]!.critical).toBeGreaterThan(alone.critical / 4);
  expect(pair[0]!.critical).toBeLessThan(alone.critical * 4);
});

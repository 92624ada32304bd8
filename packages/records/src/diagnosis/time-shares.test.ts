import { expect, it } from 'vitest';
import { syntheticRun } from '../synthetic.js';
import { stepTimes } from './time-shares.js';

it('the time of a run is divided into parts, of all ranks and of each', () => {
  // Rank 1 computes for 14 ms, then both communicate for 2 ms. Rank 0 has waited for 4 ms more.
  const run = syntheticRun({
    ranks: 2,
    step: (_, rank) => ({
      ...{ ms: 20, loader: 3, forward: rank ? 4 : 2, backward: rank ? 9 : 7, optimizer: 1 },
      ...{ exposed: rank ? 2 : 6, blocked: rank ? 2 : 6, bytesSent: 1000 },
    }),
  });
  const { shares, byRank, ...times } = stepTimes(run);
  expect(times).toMatchObject({ stepMs: 20, samples: 32, samplesPerSecond: 1600, bytesSent: 1000 });
  expect(shares!.communication).toBeCloseTo(2 / 20, 10);
  expect(shares!.imbalance).toBeCloseTo(4 / 2 / 20, 10);
  expect(shares!.data).toBeCloseTo(3 / 20, 10);
  expect(shares!.compute).toBeCloseTo(12 / 20, 10);
  expect(byRank!.map(({ communication }) => communication)).toEqual([0.3, 0.1]);
  for (const parts of [shares!, ...byRank!])
    expect(Object.values(parts).reduce((sum, part) => sum + part, 0)).toBeCloseTo(1, 10);
});

it('on a GPU its parts are not known', () => {
  expect(stepTimes(syntheticRun({ facts: { device: 'cuda' } })).shares).toBeUndefined();
});

it('records without a step are refused', () => {
  expect(() => stepTimes(syntheticRun({ steps: 0 }))).toThrow(
    expect.objectContaining({ code: 'ACC_RECORDS_EMPTY' }) as Error,
  );
});

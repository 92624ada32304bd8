import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countSteps, epochSamples, layoutStep, stepSamples, type Deal } from './step-layout.js';

const deals = fc
  .record({
    batchSize: fc.integer({ min: 1, max: 12 }),
    size: fc.integer({ min: 1, max: 7 }),
    splitBatches: fc.boolean(),
    fills: fc.boolean(),
    sharesLast: fc.boolean(),
  })
  .filter(({ batchSize, size, splitBatches }) => !splitBatches || batchSize >= size);

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);

describe('layoutStep', () => {
  it('gives each rank a batch in turn', () => {
    const deal: Deal = { batchSize: 4, size: 3, splitBatches: false, fills: false, sharesLast: false };
    expect(layoutStep(100, deal)).toEqual({ starts: [0, 4, 8], rows: [4, 4, 4], realRows: [4, 4, 4] });
    expect(layoutStep(6, deal)).toEqual({ starts: [0, 4, 8], rows: [4, 2, 0], realRows: [4, 2, 0] });
    expect(layoutStep(6, { ...deal, fills: true })).toEqual({
      starts: [0, 4, 6],
      rows: [4, 2, 4],
      realRows: [4, 2, 0],
    });
  });

  it('cuts a batch into parts with splitBatches', () => {
    const deal: Deal = { batchSize: 8, size: 3, splitBatches: true, fills: false, sharesLast: false };
    expect(layoutStep(8, deal)).toEqual({ starts: [0, 3, 6], rows: [3, 3, 2], realRows: [3, 3, 2] });
    expect(layoutStep(4, deal)).toEqual({ starts: [0, 2, 3], rows: [2, 1, 1], realRows: [2, 1, 1] });
    expect(layoutStep(2, { ...deal, fills: true })).toEqual({
      starts: [0, 1, 2],
      rows: [1, 1, 2],
      realRows: [1, 1, 0],
    });
  });

  it('lets ranks share an incomplete step', () => {
    const deal: Deal = { batchSize: 4, size: 3, splitBatches: false, fills: true, sharesLast: true };
    expect(layoutStep(100, deal)).toEqual({ starts: [0, 4, 8], rows: [4, 4, 4], realRows: [4, 4, 4] });
    expect(layoutStep(6, deal)).toEqual({ starts: [0, 2, 4], rows: [2, 2, 2], realRows: [2, 2, 2] });
  });

  it('assigns every slot once and counts every real sample once', () => {
    fc.assert(
      fc.property(deals, fc.nat(100), (deal, left) => {
        const { starts, rows, realRows } = layoutStep(left, deal);
        const real = Math.min(left, stepSamples(deal));
        expect(sum(realRows)).toBe(real);
        const full = layoutStep(stepSamples(deal), deal).rows;
        const fills = deal.fills && !deal.sharesLast;
        expect(rows).toEqual(realRows.map((count, rank) => (fills && count === 0 ? full[rank] : count)));
        let slot = 0;
        rows.forEach((count, rank) => {
          if (count > 0) expect(starts[rank]).toBe(slot);
          slot += count;
        });
      }),
    );
  });
});

describe('countSteps', () => {
  it('equals the sum over all steps', () => {
    fc.assert(
      fc.property(deals, fc.nat(100), (deal, samples) => {
        for (let rank = 0; rank < deal.size; rank++) {
          let steps = 0;
          for (let left = samples; left > 0; left -= stepSamples(deal)) {
            if (layoutStep(left, deal).rows[rank]! > 0) steps++;
          }
          expect(countSteps(samples, rank, deal)).toBe(steps);
        }
      }),
    );
  });

  it('is the same on every rank if the last step is filled', () => {
    fc.assert(
      fc.property(deals, fc.nat(100), (deal, samples) => {
        const steps = Array.from({ length: deal.size }, (_, rank) =>
          countSteps(samples, rank, { ...deal, fills: true, sharesLast: false }),
        );
        expect(new Set(steps).size).toBe(1);
      }),
    );
  });
});

describe('epochSamples', () => {
  const deal: Deal = { batchSize: 4, size: 2, splitBatches: false, fills: true, sharesLast: false };

  it('leaves out an incomplete step on request', () => {
    expect(epochSamples(10, deal, true)).toBe(8);
    expect(epochSamples(10, deal, false)).toBe(10);
    expect(epochSamples(7, deal, true)).toBe(0);
    expect(epochSamples(14, { ...deal, splitBatches: true }, true)).toBe(12);
    expect(epochSamples(14, { ...deal, sharesLast: true }, true)).toBe(8);
    expect(epochSamples(14, { ...deal, sharesLast: true, splitBatches: true }, true)).toBe(12);
  });
});

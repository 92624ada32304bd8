import { describe, expect, it } from 'vitest';
import { costsOfGrowingBatches, type BatchSize } from './growing-batches.js';

/** The costs, and the batches that were measured, as rows × open dims. */
function measured(isOpen: boolean, measure: (size: BatchSize) => readonly number[] | Error) {
  const sizes: string[] = [];
  const costs = costsOfGrowingBatches(isOpen, (size) => {
    sizes.push(`${size.rows} × ${size.openDim}`);
    return measure(size);
  });
  return { costs, sizes };
}

describe('batches to measure', () => {
  it('grow by rows, or by rows and open dims', () => {
    const rows = ({ rows }: BatchSize) => [rows / 1000];
    const closed = ['4 × 8', '16 × 8', '64 × 8', '256 × 8'];
    expect(measured(false, rows)).toEqual({ costs: [0.256], sizes: closed });
    const open = ['4 × 8', '8 × 16', '16 × 32', '32 × 64'];
    expect(measured(true, rows)).toEqual({ costs: [0.032], sizes: open });
  });

  it('stop when they take long enough', () => {
    const { costs, sizes } = measured(false, ({ rows }) => [rows * 4, rows * 4]);
    expect([costs, sizes.length]).toEqual([[64, 64], 2]);
  });

  it('grow by rows where open dims are limited', () => {
    const limited = ({ rows, openDim }: BatchSize) => (openDim > 16 ? new Error('positions') : [rows / 1000]);
    const sizes = ['4 × 8', '8 × 16', '16 × 32', '32 × 16', '128 × 16'];
    expect(measured(true, limited)).toEqual({ costs: [0.128], sizes });
  });

  it('have the costs of the last one on which the model runs', () => {
    const few = ({ rows }: BatchSize) => (rows > 16 ? new Error('rows') : [rows / 1000]);
    expect(measured(false, few)).toEqual({ costs: [0.016], sizes: ['4 × 8', '16 × 8', '64 × 8'] });
    expect(() => measured(true, () => new Error('no rows'))).toThrow('no rows');
  });
});

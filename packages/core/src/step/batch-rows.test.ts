import { describe, expect, it } from 'vitest';
import { sampleShares } from './batch-rows.js';

describe('rows of a batch', () => {
  it('weigh by real samples, without filled rows', () => {
    expect(sampleShares({ rows: [4, 4, 4], realRows: [4, 2, 0] })).toEqual([4 / 6, 2 / 6, 0]);
    expect(sampleShares({ rows: [1, 1], realRows: [0, 0] })).toEqual([0.5, 0.5]);
  });
});

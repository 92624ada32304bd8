import { expect, it } from 'vitest';
import { onRanks } from '../on-ranks.js';
import type { Read } from './ranks/reads.js';

const module = new URL('./ranks/reads.ts', import.meta.url);
/** Of weights that have 51,040 bytes. Allocations are rounded up. */
const ROUNDING = 1_024;

it.each([
  [1, 2],
  [2, 2],
  [3, 2],
  [3, 3],
])('reads and new values keep no whole weights: stage %i on %i ranks', async (stage, ranks) => {
  for (const found of await onRanks<Read>({ module, ranks, args: stage })) {
    const { before, afterReads, afterSet, whole, read, doubled } = found;
    expect(afterReads).toHaveLength(4);
    for (const bytes of [...afterReads, ...(stage === 3 ? [afterSet] : [])]) {
      expect(bytes).toBeLessThan(before + ROUNDING);
    }
    expect(read).toEqual(whole);
    expect(doubled).toEqual(whole.map((values) => values.map((value) => 2 * value)));
  }
});

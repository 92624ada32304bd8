import { expect, it } from 'vitest';
import { onRanks } from './on-ranks.js';
import type { Refused } from './ranks/refused-collectives.js';

const module = new URL('./ranks/refused-collectives.ts', import.meta.url);

it('collectives that ranks call with other shapes keep no memory, and the group goes on', async () => {
  const found = await onRanks<Refused>({ module, ranks: 3, env: { OMP_NUM_THREADS: '1' } });
  expect(found).toHaveLength(3);
  for (const { codes, tensors, bytes, sum } of found) {
    expect(Object.keys(codes)).toHaveLength(17);
    expect(new Set(Object.values(codes))).toEqual(new Set(['ACC_COLLECTIVE_MISMATCH']));
    expect([tensors, bytes, sum]).toEqual([0, 0, 6]);
  }
});

import { expect, it } from 'vitest';
import { onRanks } from '../on-ranks.js';
import type { Args, Found } from './ranks/attention.js';

const module = new URL('./ranks/attention.ts', import.meta.url);

async function attend(ranks: number, args: Args): Promise<Found[]> {
  return onRanks<Found>({ module, ranks, args, env: { OMP_NUM_THREADS: '1' } });
}

const OF_BOTH = { 'own columns of queries': 'ACC_CONTEXT_MASK', 'a trained mask': 'ACC_CONTEXT_MASK' };
const OF_RING = {
  ...OF_BOTH,
  'causal with fewer keys': 'ACC_CONTEXT_LENGTH',
  heads: 'none',
  'second gradients': 'ACC_NO_SECOND_GRADIENT',
};
const OF_HEADS = {
  ...OF_BOTH,
  'causal with fewer keys': 'none',
  heads: 'ACC_CONTEXT_HEADS',
  'second gradients': 'none',
};

it.each([
  { ranks: 2, by: 'ring', engine: 'auto', cases: 13, refusals: OF_RING },
  { ranks: 3, by: 'ring', engine: 'auto', unequal: 'causal', cases: 13, refusals: OF_RING },
  { ranks: 3, by: 'heads', engine: 'auto', cases: 13, refusals: OF_HEADS },
  { ranks: 2, by: 'ring', engine: 'tfjs', cases: 13, refusals: OF_RING },
] as const)('on $ranks ranks by $by ($engine), attention is that of whole sequences', async (given) => {
  const { by: attention, engine, unequal: lengths } = given;
  const found = await attend(given.ranks, { attention, engine, isCausal: lengths === 'causal' });
  expect(found).toHaveLength(given.ranks);
  for (const { differences, refused, unequal, afterwards, dropped, left } of found) {
    expect(Object.keys(differences)).toHaveLength(given.cases);
    expect(refused).toEqual(given.refusals);
    expect(unequal).toEqual(['none', 'none', 'ACC_CONTEXT_LENGTH', 'ACC_CONTEXT_LENGTH']);
    for (const [name, largest] of Object.entries({ ...differences, afterwards })) {
      expect(Math.max(...largest), name).toBeLessThan(1e-5);
    }
    // Dropout keeps half of the weights and doubles them.
    for (const mean of dropped) expect(mean).toBeCloseTo(1, 1);
    expect(left).toBe(0);
  }
});

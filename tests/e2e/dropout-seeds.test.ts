import { expect, it } from 'vitest';
import { resultsOfRanks } from '@acc/testkit';

const script = new URL('./ranks/dropout-seeds.ts', import.meta.url);

it('dropout of data ranks is one mask after setSeed, and differs without it and by a seed for each rank', async () => {
  const found = await resultsOfRanks<Record<'unseeded' | 'same' | 'own', string> & { rank: number }>({
    script,
    ranks: 2,
    env: { OMP_NUM_THREADS: '1' },
  });
  expect(found.map(({ rank }) => rank)).toEqual([0, 1]);
  const masks = (of: 'unseeded' | 'same' | 'own') => new Set(found.map((each) => each[of])).size;
  expect([masks('unseeded'), masks('same'), masks('own')]).toEqual([2, 1, 2]);
  // Rank 0 has the seed itself.
  expect(found[0]!.own).toBe(found[0]!.same);
});

import { expect, it } from 'vitest';
import { resultsOfRanks } from '@acc/testkit';

const script = new URL('./ranks/choices.ts', import.meta.url);

interface Choice {
  name: string;
  candidate: string;
  isMeasured: boolean;
}

it('all ranks choose the same kernels', async () => {
  const chosen = await resultsOfRanks<Choice[]>({ script, ranks: 2, env: { OMP_NUM_THREADS: '1' } });
  const names = chosen.map((choices) => choices.map(({ name, candidate }) => `${name}: ${candidate}`));
  expect(names[1]).toEqual(names[0]);
  expect(names[0]!.length).toBeGreaterThanOrEqual(8);
  // Each kernel was measured by some rank.
  names[0]!.forEach((name, i) => {
    expect(
      chosen.some((choices) => choices[i]!.isMeasured),
      name,
    ).toBe(true);
  });
});

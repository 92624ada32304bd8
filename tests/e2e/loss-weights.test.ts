import { expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from './on-ranks.js';

interface Told {
  backend: string;
  plain: Record<string, number[]>;
  got: Record<string, number[]>;
  localSizes: number[];
  warnings: [before: string[], after: string[]];
  isRestored: boolean;
}

const module = new URL('./ranks/loss-weights.ts', import.meta.url);

const EACH = [
  [1, ['acc']],
  [2, ['acc', 'cpu']],
  [3, ['acc', 'cpu']],
] as const;

it.each(EACH)(
  '%i ranks on %j weigh losses so that weights and logs equal those of plain tfjs',
  async (size, backends) => {
    const env = { OMP_NUM_THREADS: '1' };
    const results = await onRanks<Record<string, Told>>({ module, ranks: size, args: backends, env });
    for (const backend of backends)
      expectPlain(
        backend,
        results.map((result) => result[backend]!),
      );
  },
);

function expectPlain(backend: string, ranks: readonly Told[]): void {
  const size = ranks.length;
  for (const [rank, told] of ranks.entries()) {
    const { plain, got, warnings, localSizes, isRestored } = told;
    expect(told.backend).toBe(backend);
    expect(Object.keys(got)).toEqual(Object.keys(plain));
    expect(Object.keys(got)).toHaveLength(15);
    for (const [name, numbers] of Object.entries(got)) {
      expect(numbers, `${name}, rank ${rank}`).toEqual(ranks[0]!.got[name]);
      expectClose(numbers, plain[name]!, { rtol: 1e-5, atol: 2e-6 });
    }
    const [before, after] = warnings.map((list) => list.filter((line) => line.includes('weighLoss')));
    expect(before).toEqual([]);
    expect(after).toHaveLength(size === 1 ? 0 : 1);
    const larger = Number(rank < 5 % size);
    expect(localSizes).toEqual([6 / size, Math.floor(5 / size) + larger]);
    expect(isRestored).toBe(true);
  }
}

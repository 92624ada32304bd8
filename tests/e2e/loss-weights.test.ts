import { expect, it } from 'vitest';
import { expectClose, runRanks } from '@acc/testkit';

interface Told {
  backend: string;
  plain: Record<string, number[]>;
  got: Record<string, number[]>;
  localSizes: number[];
  warnings: [before: string[], after: string[]];
  isRestored: boolean;
}

const script = new URL('./ranks/loss-weights.ts', import.meta.url);

it.each([
  [1, 'acc'],
  [2, 'acc'],
  [3, 'acc'],
  [2, 'cpu'],
  [3, 'cpu'],
])('%i ranks on %s weigh losses so that weights and logs are those of plain tfjs', async (size, backend) => {
  const results = await runRanks<Told>({
    script,
    ranks: size,
    args: [backend],
    env: { OMP_NUM_THREADS: '1' },
  });
  for (const [rank, { exitCode, stderr, result }] of results.entries()) {
    expect(exitCode, stderr).toBe(0);
    const { plain, got, warnings, localSizes, isRestored } = result!;
    expect(result!.backend).toBe(backend);
    expect(Object.keys(got)).toEqual(Object.keys(plain));
    expect(Object.keys(got)).toHaveLength(15);
    for (const [name, numbers] of Object.entries(got)) {
      expect(numbers, `${name}, rank ${rank}`).toEqual(results[0]!.result!.got[name]);
      expectClose(numbers, plain[name]!, { rtol: 1e-5, atol: 2e-6 });
    }
    const [before, after] = warnings.map((list) => list.filter((line) => line.includes('weighLoss')));
    expect(before).toEqual([]);
    expect(after).toHaveLength(size === 1 ? 0 : 1);
    const larger = Number(rank < 5 % size);
    expect(localSizes).toEqual([6 / size, Math.floor(5 / size) + larger]);
    expect(isRestored).toBe(true);
  }
});

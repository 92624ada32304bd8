import { expect, it } from 'vitest';
import { expectClose, runRanks } from '@acc/testkit';

interface Result {
  weights: number[][];
  sometimes: number;
  hasNever: boolean;
  unprepared: number;
}

it('several models and optimizers train alike on 1, 2 and 3 ranks; unused variables are handled', async () => {
  const script = new URL('./ranks/gan.ts', import.meta.url);
  const run = async (ranks: number) => {
    const results = await runRanks<Result>({ script, ranks, env: { OMP_NUM_THREADS: '1' } });
    for (const { exitCode, stderr } of results) expect(exitCode, stderr).toBe(0);
    return results.map(({ result }) => result!);
  };
  const [alone] = await run(1);
  for (const size of [2, 3]) {
    for (const [rank, result] of (await run(size)).entries()) {
      result.weights.forEach((values, i) =>
        expectClose(values, alone!.weights[i]!, { rtol: 1e-5, atol: 1e-6 }),
      );
      expectClose(result.sometimes, 1);
      expect(result.hasNever).toBe(false);
      expectClose(result.unprepared, (rank + 1) / size);
    }
  }
});

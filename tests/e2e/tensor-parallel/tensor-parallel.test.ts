import { describe, expect, it } from 'vitest';
import { expectClose, resultsOfRanks } from '@acc/testkit';

interface Trained {
  readonly losses: readonly number[];
  readonly weights: readonly number[][];
  readonly sent: Record<string, { calls: number; bytes: number }>;
  readonly left: number;
}

const train = (program: string, ranks: number, mesh: object, options: object = {}) =>
  resultsOfRanks<Trained>({
    script: new URL(`./ranks/${program}.ts`, import.meta.url),
    ranks,
    args: [JSON.stringify(mesh), JSON.stringify(options)],
    env: { OMP_NUM_THREADS: '1' },
  });

describe('a plain program with cut variables', () => {
  it('trains as in one process', async () => {
    const [alone] = await train('mlp', 1, {});
    for (const [ranks, mesh] of [
      [2, { tensor: 2 }],
      [4, { data: 2, tensor: 2 }],
    ] as const) {
      for (const { losses, weights, left } of await train('mlp', ranks, mesh)) {
        expectClose(losses, alone!.losses, { rtol: 1e-4 });
        weights.forEach((values, i) => expectClose(values, alone!.weights[i]!, { rtol: 1e-4, atol: 1e-6 }));
        expect(left).toBe(1);
      }
    }
  });
});

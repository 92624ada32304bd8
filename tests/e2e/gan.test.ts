import { expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from './on-ranks.js';

interface Result {
  backend: string;
  twice: number[];
  weights: number[][];
  sometimes: number;
  hasNever: boolean;
  unprepared: number;
}

const title =
  'several models train equally on 1, 2 and 3 ranks, also with variables that some or no ranks use, or that are used twice';

const BACKENDS = ['acc', 'cpu'];

async function run(ranks: number): Promise<Record<string, Result>[]> {
  const module = new URL('./ranks/gan.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1' };
  const results = await onRanks<Record<string, Result>>({ module, ranks, args: BACKENDS, env });
  for (const result of results) expect(Object.keys(result)).toEqual(BACKENDS);
  return results;
}

it(`on each of ${BACKENDS.join(' and ')} ${title}`, async () => {
  const [alone] = await run(1);
  for (const backend of BACKENDS) expect(alone![backend]!.backend).toBe(backend);
  for (const size of [2, 3]) {
    for (const [rank, results] of (await run(size)).entries()) {
      for (const [backend, result] of Object.entries(results)) {
        result.weights.forEach((values, i) =>
          expectClose(values, alone![backend]!.weights[i]!, { rtol: 1e-5, atol: 1e-6 }),
        );
        expectClose(result.sometimes, 1);
        expect(result.hasNever).toBe(false);
        expectClose(result.unprepared, (rank + 1) / size);
        expectClose(result.twice, gradientOfTwice(size), { rtol: 1e-5, atol: 1e-5 });
      }
    }
  }
});

/** d/dw of the mean over ranks r of sin((r + 1) w²) + w² + w, at w = 2 and 3. */
function gradientOfTwice(size: number): number[] {
  return [2, 3].map((w) => {
    let sum = 0;
    for (let r = 0; r < size; r++) sum += Math.cos((r + 1) * w * w) * 2 * (r + 1) * w + 2 * w + 1;
    return sum / size;
  });
}

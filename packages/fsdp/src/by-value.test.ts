import { afterAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { closeThreads, runOnThreads } from '@acc/testkit/threads';

afterAll(closeThreads);

interface Trained {
  readonly losses: number[];
  readonly weights: number[][];
  readonly dict: number[];
  readonly stateElements: number;
  readonly leaked: number;
}

/** The result of each rank, by the number of ranks. */
const train = (args: string): Promise<Record<number, Trained>[]> =>
  runOnThreads({ module: new URL('../fixtures/by-value.ts', import.meta.url), ranks: 3, args });

const CLOSE = { rtol: 1e-4, atol: 1e-6 };

describe('fsdp', () => {
  it.each([
    'stage 1',
    'stage 2, clipped by norm',
    'stage 3 in small units',
    'stage 3, clipped by value',
    'stage 3, accumulated',
    'stage 3 on tfjs',
    'stage 3, recomputed',
  ])('trains on 2 and 3 ranks as in one process: %s', async (name) => {
    const results = await train(name);
    const alone = results[0]![1]!;
    expect(alone.weights.at(-1)).not.toEqual(alone.weights[0]);
    for (const ranks of [2, 3]) {
      for (const { [ranks]: trained } of results.slice(0, ranks)) {
        const { losses, weights, dict, stateElements, leaked } = trained!;
        // Every rank reads the same bits.
        expect(weights).toEqual(results[0]![ranks]!.weights);
        expect(dict).toEqual(weights.at(-1));
        expectClose(losses, alone.losses, CLOSE);
        weights.forEach((values, step) => expectClose(values, alone.weights[step]!, CLOSE));
        expect(leaked).toBe(0);
        // A rank keeps the state of its shards alone. Those of rank 0 may be larger.
        expect(stateElements).toBeLessThan(0.8 * alone.stateElements);
      }
    }
  });
});

import { afterAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { closeThreads, runOnThreads } from '@acc/testkit/threads';

afterAll(closeThreads);

interface Trained {
  readonly losses: number[];
  readonly guesses: number[];
  readonly weights: number[];
  readonly dict: number[];
  readonly stateElements: number;
  readonly leaked: number;
}

/** The result of each rank, by the number of ranks. */
const train = (args: string): Promise<Record<number, Trained>[]> =>
  runOnThreads({ module: new URL('../fixtures/by-value.ts', import.meta.url), ranks: 3, args });

const CLOSE = { rtol: 1e-4, atol: 1e-5 };

describe('tensor parallelism', () => {
  it.each([
    'columns, rows and vocabulary',
    'table by columns',
    'table by tokens, clipped by norm',
    'columns, on tfjs',
    'transformer block, automatically',
    'transformer block along the sequence, accumulated',
  ])('of 2 and 3 ranks trains as one process: %s', async (name) => {
    const results = await train(name);
    const alone = results[0]![1]!;
    expect(new Set(alone.losses).size).toBe(alone.losses.length);
    for (const ranks of [2, 3]) {
      for (const { [ranks]: trained } of results.slice(0, ranks)) {
        const { losses, guesses, weights, dict, stateElements, leaked } = trained!;
        expectClose(losses, alone.losses, CLOSE);
        expectClose(weights, alone.weights, CLOSE);
        expect(guesses).toEqual(alone.guesses);
        // Every rank reads the same bits.
        expect(weights).toEqual(results[0]![ranks]!.weights);
        expect(dict).toEqual(weights);
        expect(leaked).toBe(0);
        // A rank keeps the state of its shards.
        expect(stateElements).toBeLessThan(alone.stateElements);
      }
    }
  });
});

import { afterAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { closeThreads, runOnThreads } from '@acc/testkit/threads';

afterAll(closeThreads);

interface Trained {
  readonly losses: number[];
  readonly weights: number[];
  readonly stateElements: number;
  readonly leaked: number;
}

/** The result of each rank, by the number of ranks. */
const train = (args: string): Promise<Record<number, Trained>[]> =>
  runOnThreads({ module: new URL('../fixtures/by-value.ts', import.meta.url), ranks: 3, args });

const CLOSE = { rtol: 1e-4, atol: 1e-6 };

describe('a pipeline', () => {
  it.each([
    'gpipe',
    '1f1b, clipped by norm',
    'zeroBubble',
    'interleaved',
    '1f1b, accumulated',
    'gpipe, tied',
    '1f1b on tfjs, tied',
  ])('of 2 and 3 stages trains as one process: %s', async (name) => {
    const results = await train(name);
    const alone = results[0]![1]!;
    expect(new Set(alone.losses).size).toBe(alone.losses.length);
    for (const ranks of [2, 3]) {
      for (const { [ranks]: trained } of results.slice(0, ranks)) {
        const { losses, weights, stateElements, leaked } = trained!;
        expectClose(losses, alone.losses, CLOSE);
        expectClose(weights, alone.weights, CLOSE);
        expect(leaked).toBe(0);
        // A rank keeps the state of its own layers alone.
        expect(stateElements).toBeLessThan(alone.stateElements);
      }
    }
  });
});

import { afterAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { closeThreads, runOnThreads } from '@acc/testkit/threads';

afterAll(closeThreads);

interface Trained {
  readonly losses: number[];
  readonly weights: number[][];
  readonly leaked: number;
  readonly hookCalls: number;
}

/** The result of each rank, by the number of ranks. */
const train = (args: string): Promise<Record<number, Trained>[]> =>
  runOnThreads({ module: new URL('../fixtures/by-value.ts', import.meta.url), ranks: 3, args });

const SUMS = { rtol: 1e-4, atol: 1e-6 };
/** Sums in 16 bits. Adam divides by the size of gradients, so small ones make a difference. */
const NARROW = { rtol: 5e-2, atol: 5e-3 };

describe('ddp', () => {
  it.each([
    'plain',
    'on tfjs, in small buckets',
    'at apply, clipped by value',
    'accumulated, clipped by norm',
    'own hook',
    'bf16',
    'powerSgd of full rank',
    'topK of all',
    'batch norm of all rows',
  ])('trains on 2 and 3 ranks as in one process: %s', async (name) => {
    const results = await train(name);
    const alone = results[0]![1]!;
    expect(alone.weights.at(-1)).not.toEqual(alone.weights[0]);
    for (const ranks of [2, 3]) {
      for (const { [ranks]: trained } of results.slice(0, ranks)) {
        const { losses, weights, leaked, hookCalls } = trained!;
        // Every rank has the same bits.
        expect(weights).toEqual(results[0]![ranks]!.weights);
        const close = name === 'bf16' ? NARROW : SUMS;
        expectClose(losses, alone.losses, close);
        weights.forEach((values, step) => expectClose(values, alone.weights[step]!, close));
        expect(leaked).toBe(0);
        // One bucket for each of the 4 steps.
        expect(hookCalls).toBe(name === 'own hook' ? 4 : 0);
      }
    }
  });

  it('sums what other ranks have for variables that a rank does not use', async () => {
    const results = await train('partly unused');
    for (const { 2: trained } of results.slice(0, 2)) {
      const { weights } = trained!;
      expect(weights).toEqual(results[0]![2]!.weights);
      expect(weights.at(-1)).not.toEqual(weights[0]);
    }
  });
});

import { describe, expect, it } from 'vitest';
import type { AcceleratorOptions } from '@acc/core';
import { expectClose } from '@acc/testkit';
import { onRanks } from './on-ranks.js';
import type { Evaluated } from './ranks/evaluation.js';
import type { Warned } from './ranks/metrics.js';

const module = new URL('./ranks/evaluation.ts', import.meta.url);
const env = { OMP_NUM_THREADS: '1' };
const run = (ranks: number, options: AcceleratorOptions) =>
  onRanks<Evaluated>({ module, ranks, args: options, env });

const STRATEGIES: readonly (readonly [AcceleratorOptions, readonly number[]])[] = [
  [{}, [1, 2, 3]],
  [{ strategy: 'fsdp' }, [1, 2, 3]],
  [{ deterministic: { virtualShards: 2 } }, [1, 2]],
];

describe('prepared validation data', () => {
  it.each(STRATEGIES)('gives every rank the figures of all rows: %j on %j ranks', async (options, sizes) => {
    const [alone] = await run(1, {});
    // One epoch more than the best one, as early stopping decides on every rank.
    expect(alone!.history['val_loss']).toHaveLength(2);
    for (const ranks of sizes) {
      for (const found of await run(ranks, options)) {
        for (const key of ['val_loss', 'val_mae']) {
          expectClose(found.history[key]!, alone!.history[key]!, { rtol: 1e-5 });
        }
        expectClose(found.all, alone!.all, { rtol: 1e-5 });
        expectClose(found.firstTwo, alone!.firstTwo, { rtol: 1e-5 });
        expectClose(found.fittedBatches, alone!.fittedBatches, { rtol: 1e-5 });
        expect(found.fittedBatches[0]).not.toBe(found.history['val_loss']![0]);
      }
    }
  });
});

it('names metrics that are not means over rows, once, on ranks that have others', async () => {
  const metrics = new URL('./ranks/metrics.ts', import.meta.url);
  for (const ranks of [1, 2]) {
    const found = await onRanks<Warned>({ module: metrics, ranks, env });
    for (const [rank, { inFit, inEvaluation, left }] of found.entries()) {
      const names = ranks > 1 && rank === 0 ? ['precision', 'f1'] : [];
      for (const warnings of [inFit, inEvaluation]) {
        const expected = names.map(
          (name) => expect.stringMatching(`^acc: the metric '${name}' is the mean`) as string,
        );
        expect(warnings).toEqual(expected);
      }
      expect(left).toBe(0);
    }
  }
});

import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose, type CloseOptions } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import type { Case, Result, Way } from './ranks/steps.js';

const SIZES = [1, 2, 3];
const WAYS: readonly Way[] = ['stage1', 'stage2', 'stage3', 'together', 'bySize'];
const CASES: readonly Case[] = [
  ...(['adam', 'lamb', 'clipped', 'clippedByValue', 'accumulated', 'checkpointed'] as const),
  ...(['frozen', 'bf16', 'skipped'] as const),
];
const results = new Map<number, Result[]>();

beforeAll(async () => {
  const module = new URL('./ranks/steps.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1' };
  for (const ranks of SIZES) results.set(ranks, await onRanks<Result>({ module, ranks, env }));
}, 360_000);

/** Rounding of float32. Elements of about 1 that have come near 0 keep the errors of their size. */
const CLOSE = { rtol: 1e-5, atol: 1e-6 };

/**
 * Products in 16 bits over all rows round other sums than those over each rank's rows. A difference
 * of float32 in its last bits is a step of 2^-8 in bfloat16, of 2^-11 in float16. ddp computes with
 * the same rows on each rank, so fsdp is as close to it as in float32.
 */
const CLOSE_TO_ALONE: Partial<Record<Case, CloseOptions>> = {
  bf16: { rtol: 1e-2, atol: 4e-3 },
  skipped: { rtol: 1e-2, atol: 1e-3 },
};

// One process alone is the reference: it has nothing to divide.
describe.each([2, 3])('on %i ranks, fsdp', (ranks) => {
  it.each(CASES)('takes the steps of ddp and of one process, in every stage: %s', (kind) => {
    const alone = results.get(1)![0]!.cases[kind].ddp;
    results.get(ranks)!.forEach(({ cases }) => {
      const { ddp } = cases[kind];
      for (const way of WAYS) {
        const { weights, losses } = cases[kind][way];
        weights.forEach((values, step) => {
          expectClose(values, ddp.weights[step]!, CLOSE);
          expectClose(values, alone.weights[step]!, CLOSE_TO_ALONE[kind] ?? CLOSE);
        });
        losses.forEach((loss, step) => {
          if (Number.isFinite(ddp.losses[step]!)) expectClose([loss], [ddp.losses[step]!], CLOSE);
          else expect(loss).toBe(ddp.losses[step]);
        });
        expect(weights.at(-1)).not.toEqual(weights[0]);
        expect(cases[kind][way].leaked).toBe(0);
      }
    });
  });

  it('skips a step on all ranks where one shard is not finite', () => {
    for (const { cases } of results.get(ranks)!) {
      for (const way of WAYS) {
        const { skipped, weights } = cases.skipped[way];
        expect(skipped).toEqual([false, false, true, false, false, false]);
        expect(weights[2]).toEqual(weights[1]);
      }
    }
  });

  it('fits, validates and predicts with a LayersModel with a frozen layer as ddp does', () => {
    for (const { fitted } of results.get(ranks)!) {
      for (const way of WAYS) {
        const { losses, validated, predicted, weights } = fitted[way];
        expectClose(losses, fitted.ddp.losses, CLOSE);
        expectClose(validated, fitted.ddp.validated, CLOSE);
        expectClose(predicted, fitted.ddp.predicted, CLOSE);
        expectClose(weights.flat(), fitted.ddp.weights.flat(), CLOSE);
      }
    }
  });
});

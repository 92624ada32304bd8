import { expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from './on-ranks.js';

interface Result {
  weights: [w: number[], sometimes: number[], never: number[], unprepared: number[]];
  local: number[];
  refused: string;
  leaked: number;
}

/** The loop of ranks/sync-at-apply.ts in plain numbers. */
function expected(size: number, rank: number): { weights: number[][]; local: number[] } {
  const ranks = Array.from({ length: size }, (_, r) => r);
  const mean = (f: (r: number) => number) => ranks.reduce((sum, r) => sum + f(r), 0) / size;
  const momentum = (x: number[]) => {
    const v = x.map(() => 0);
    return (grads: number[]) =>
      grads.forEach((grad, i) => {
        v[i] = 0.5 * v[i]! + grad;
        x[i]! -= 0.1 * v[i]!;
      });
  };
  const [w, sometimes] = [[1, 2], [5]];
  const [moveW, moveSometimes] = [w, sometimes].map(momentum);
  let local: number[] = [];
  for (let step = 0; step < 3; step++) {
    local = w!.map((x) => 2 * (rank + 1) * x);
    moveW!(w!.map((x) => mean((r) => (r + 1) * 2 * (r + 1) * x)));
    moveSometimes!([1 / size]);
    moveW!(w!.map(() => mean((r) => r)));
  }
  return { weights: [w!, sometimes!, [9], [3]], local };
}

it.each([1, 2, 3])('gradients are reduced when they are applied, on %i ranks', async (ranks) => {
  const module = new URL('./ranks/sync-at-apply.ts', import.meta.url);
  const results = await onRanks<Result>({ module, ranks, env: { OMP_NUM_THREADS: '1' } });
  for (const [rank, result] of results.entries()) {
    const { weights, local } = expected(ranks, rank);
    result.weights.forEach((values, i) => expectClose(values, weights[i]!, { rtol: 1e-5 }));
    // The result of a pass is the gradient of this rank.
    expectClose(result.local, local, { rtol: 1e-5 });
    expect(result.refused).toBe(ranks === 1 ? '' : 'ACC_NOT_PREPARED');
    expect(result.leaked).toBe(0);
  }
});

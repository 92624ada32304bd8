import { expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from './on-ranks.js';

interface Trained {
  weights: number[];
  history: Record<string, number[]>;
}

interface Result {
  ofGenerator: { plain: Trained; prepared: Trained };
  /** The weights after each step of a loop. */
  ofLoop: number[][];
  weights: number[][];
  history: Record<string, number[]>;
  seen: number[];
  all: number[];
  names: string[];
  typed: number[];
}

it('fit, its History and gathered metrics equal those of one process if the data does not divide evenly', async () => {
  const module = new URL('./ranks/uneven.ts', import.meta.url);
  const run = (ranks: number) => onRanks<Result>({ module, ranks, env: { OMP_NUM_THREADS: '1' } });
  const [alone] = await run(1);
  expect(alone!.all).toEqual(Array.from({ length: 23 }, (_, i) => i));
  expect(Object.keys(alone!.history).sort()).toEqual(['loss', 'mae', 'val_loss', 'val_mae']);
  for (const size of [1, 2, 3, 4]) {
    const ranks = size === 1 ? [alone!] : await run(size);
    expect(new Set(ranks.flatMap(({ seen }) => seen)).size).toBe(23);
    for (const result of ranks) {
      const { plain, prepared } = result.ofGenerator;
      expectClose(prepared.weights, plain.weights, { rtol: 1e-5, atol: 1e-6 });
      expect(plain.history['val_loss']).toHaveLength(2);
      for (const [name, values] of Object.entries(plain.history)) {
        expectClose(prepared.history[name]!, values, { rtol: 1e-5, atol: 1e-6 });
      }
      expect(result.ofLoop).toHaveLength(2);
      result.ofLoop.forEach((step, i) => expectClose(step, alone!.ofLoop[i]!, { rtol: 1e-5, atol: 1e-6 }));
      expect(result.all).toEqual(alone!.all);
      expect(result.names).toEqual(alone!.all.map((row) => `row ${row}`));
      expect(result.typed).toEqual(alone!.all);
      result.weights.forEach((values, i) =>
        expectClose(values, alone!.weights[i]!, { rtol: 1e-5, atol: 1e-6 }),
      );
      for (const [name, values] of Object.entries(alone!.history)) {
        expectClose(result.history[name]!, values, { rtol: 1e-5, atol: 1e-6 });
      }
    }
  }
});

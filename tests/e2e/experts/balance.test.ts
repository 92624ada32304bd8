import { expect, inject, it } from 'vitest';
import { onRanks } from '../on-ranks.js';
import type { Args } from './ranks/balance.js';

const module = new URL('./ranks/balance.ts', import.meta.url);
const layer = (topK: number, balanceLoss: number) => ({ experts: 4, topK, balanceLoss, zLoss: 0 });

/** For each layer: how far the share of an expert is from the mean of all, over all ranks. */
async function imbalances(mesh: Record<string, number>, layers: Args['layers']): Promise<number[]> {
  const ranks = Object.values(mesh).reduce((product, size) => product * size);
  const args: Args = { mesh, layers };
  const env = { OMP_NUM_THREADS: '1' };
  const found = await onRanks<number[][]>({ module, ranks, args, env });
  return layers.map((_, i) => {
    const counts = [0, 1, 2, 3].map((expert) => found.reduce((sum, own) => sum + own[i]![expert]!, 0));
    const mean = counts.reduce((sum, count) => sum + count) / counts.length;
    return Math.max(...counts.map((count) => Math.abs(count / mean - 1)));
  });
}

it('experts of two ranks are balanced within 10 % over both, which they are not without the loss', async () => {
  const layers = [layer(1, 1), layer(2, 1), layer(1, 0)];
  const [one, two, without] = await imbalances({ expert: 2 }, layers);
  expect(one).toBeLessThan(0.1);
  expect(two).toBeLessThan(0.1);
  expect(without).toBeGreaterThan(0.3);
});

// In `npm test`, mesh-pairs/balance.test.ts compares these ranks with one process.
if (inject('isRelease')) {
  it('experts of two times two ranks are balanced within 10 % over all', async () => {
    const found = await imbalances({ data: 2, expert: 2 }, [layer(1, 1), layer(2, 1)]);
    expect(Math.max(...found)).toBeLessThan(0.1);
  });
}

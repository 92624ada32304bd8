import { expect, it } from 'vitest';
import { resultsOfRanks } from '@acc/testkit';

const script = new URL('./ranks/balance.ts', import.meta.url);
const layer = (topK: number, balanceLoss: number) => ({ experts: 4, topK, balanceLoss, zLoss: 0 });

/** For each layer: how far the share of an expert is from the mean of all, over all ranks. */
async function imbalances(mesh: Record<string, number>, layers: readonly object[]): Promise<number[]> {
  const ranks = Object.values(mesh).reduce((product, size) => product * size);
  const args = [JSON.stringify(mesh), JSON.stringify(layers)];
  const found = await resultsOfRanks<number[][]>({ script, ranks, args, env: { OMP_NUM_THREADS: '1' } });
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
}, 120_000);

it('experts of two times two ranks are balanced within 10 % over all', async () => {
  const found = await imbalances({ data: 2, expert: 2 }, [layer(1, 1), layer(2, 1)]);
  expect(Math.max(...found)).toBeLessThan(0.1);
}, 120_000);

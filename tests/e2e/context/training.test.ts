import { beforeAll, expect, it } from 'vitest';
import { onRanks } from '../on-ranks.js';
import { expectNear, rms } from '../transformer/compare.js';
import type { Trained } from './ranks/train.js';

type Results = Readonly<Record<string, Trained>>;

const module = new URL('./ranks/train.ts', import.meta.url);

async function trainOn(mesh: Record<string, number>, names: readonly string[]): Promise<Results[]> {
  const ranks = Object.values(mesh).reduce((product, size) => product * size, 1);
  const env = { OMP_NUM_THREADS: '1' };
  return onRanks<Results>({ module, ranks, args: { mesh, names }, env, timeoutMs: 300_000 });
}

const MESHES = [
  {
    mesh: { context: 2 },
    ways: ['llama', 'llama by heads', 'weighed', 'compiled', 'compiled in a ring', 'bf16', 'fitDataset'],
  },
  { mesh: { context: 3 }, ways: ['llama'] },
  { mesh: { data: 2, context: 2 }, ways: ['auto', 'fit'] },
  { mesh: { fsdp: 2, context: 2 }, ways: ['fsdp'] },
] as const;

let alone!: Results;

beforeAll(async () => {
  const ways = [...new Set(MESHES.flatMap(({ ways: own }) => own as readonly string[]))];
  [alone] = (await trainOn({ data: 1 }, ways)) as [Results];
});

it.each(MESHES)('$mesh: ranks with pieces of sequences train as one', async ({ mesh, ways }) => {
  const found = await trainOn(mesh, ways);
  for (const name of ways) {
    const expected = alone[name]!;
    const rtol = name.startsWith('bf16') ? 1e-2 : 1e-4;
    for (const { [name]: own } of found) {
      expect(own!.leaked, name).toBe(0);
      if (name !== 'weighed') expectNear(own!.losses, expected.losses, rtol);
      const size = Math.max(...Object.values(expected.weights).map(rms));
      for (const [weight, values] of Object.entries(expected.weights)) {
        expectNear(own!.weights[weight]!, values, rtol, size);
      }
      if (rtol === 1e-2) continue;
      expect(own!.best, name).toEqual(expected.best);
      expect(own!.text, name).toEqual(expected.text);
    }
    expect(expected.losses.length, name).toBeGreaterThanOrEqual(10);
    expect(expected.losses[9]!, name).toBeLessThan(expected.losses[0]!);
  }
});

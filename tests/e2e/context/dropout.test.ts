import { expect, it } from 'vitest';
import { onRanks } from '../on-ranks.js';
import type { Drawn } from './ranks/dropout.js';

const module = new URL('./ranks/dropout.ts', import.meta.url);

async function drawOn(mesh: Record<string, number>): Promise<Drawn[]> {
  const ranks = Object.values(mesh).reduce((product, size) => product * size, 1);
  const env = { OMP_NUM_THREADS: '1' };
  return onRanks<Drawn>({ module, ranks, args: mesh, env });
}

it('each piece of a sequence has a mask of its own, from one seed', async () => {
  const [[alone], found] = [await drawOn({ data: 1 }), await drawOn({ context: 3 })];
  for (const time of ['early', 'late'] as const) {
    expect(found[0]![time]).toEqual(alone![time]);
    const masks = found.flatMap((drawn) => drawn[time]);
    expect(masks).toHaveLength(3 * 4);
    expect(new Set(masks).size).toBe(masks.length);
  }
  for (const { again, late, plain } of found) {
    expect(again).toEqual(late);
    expect(plain).toBe(alone!.plain);
  }
});

it('ranks with one piece draw the same mask of it', async () => {
  // The axis tensor is the innermost one.
  const [a, b, c, d] = await drawOn({ context: 2, tensor: 2 });
  expect(a!.early).toEqual(b!.early);
  expect(c!.early).toEqual(d!.early);
  expect(new Set([...a!.early, ...c!.early]).size).toBe(2 * 4);
  expect(c!.late).toEqual(d!.late);
});

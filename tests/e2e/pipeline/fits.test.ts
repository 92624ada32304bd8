import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import type { Args, Fits } from './ranks/fits.js';

const module = new URL('./ranks/fits.ts', import.meta.url);
const CLOSE = { rtol: 1e-4, atol: 1e-6 };
/** The mesh, and the number of ranks with rows of their own. */
const MESHES = [
  [{ pipeline: 2 }, 1],
  [{ pipeline: 2, tensor: 2 }, 1],
  [{ pipeline: 2, fsdp: 2 }, 2],
] as const;
// The ranks of a stage have 3 and 2 rows of the last batch, so they have one micro-batch of it.
const WAYS = ['several outputs', 'weights of classes', 'a short last batch', 'fitDataset'];

const run = (mesh: Readonly<Record<string, number>>, data: number) =>
  onRanks<Fits>({
    ...{ module, ranks: Object.values(mesh).reduce((all, size) => all * size, 1) },
    ...{ args: { mesh, data } satisfies Args, env: { OMP_NUM_THREADS: '1' } },
  });

let alone: Fits;
beforeAll(async () => {
  [alone] = (await run({}, 1)) as [Fits];
});

function expectSame(found: Record<string, unknown[]>, expected: Record<string, unknown[]>): void {
  expect(Object.keys(found)).toEqual(Object.keys(expected));
  for (const [name, values] of Object.entries(expected)) {
    expectClose(found[name] as number[], values as number[], CLOSE);
  }
}

describe.each(MESHES)('fit on %j', (mesh, data) => {
  let results: Fits[];
  beforeAll(async () => {
    results = await run(mesh, data);
  });

  it.each(WAYS)('%s', (way) => {
    const expected = alone[way]!;
    for (const fits of results) {
      const found = fits[way]!;
      expectSame(found.history, expected.history);
      expectSame(found.epochs, expected.epochs);
      expectSame(found.weights, expected.weights);
      expectClose(found.batches, expected.batches, CLOSE);
    }
  });
});

import { expect, it } from 'vitest';
import { resultsOfRanks } from '@acc/testkit';

interface Sums {
  readonly coordinates: Record<string, number>;
  /** Rank r adds 10 to the power of r, so digit r shows whether it took part. */
  readonly along: number[];
  readonly data: number;
}

it('ranks of meshes sum along each axis, and over the ranks with rows of their own', async () => {
  const script = new URL('./ranks/mesh.ts', import.meta.url);
  const found = await resultsOfRanks<Sums[]>({ script, ranks: 4, env: { OMP_NUM_THREADS: '1' } });
  expect(found.map(([first]) => first)).toEqual([
    { coordinates: { data: 0, tensor: 0 }, along: [101, 11], data: 101 },
    { coordinates: { data: 0, tensor: 1 }, along: [1010, 11], data: 1010 },
    { coordinates: { data: 1, tensor: 0 }, along: [101, 1100], data: 101 },
    { coordinates: { data: 1, tensor: 1 }, along: [1010, 1100], data: 1010 },
  ]);
  expect(found.map(([, second]) => second)).toEqual([
    { coordinates: { pipeline: 0, fsdp: 0 }, along: [101, 11], data: 11 },
    { coordinates: { pipeline: 0, fsdp: 1 }, along: [1010, 11], data: 11 },
    { coordinates: { pipeline: 1, fsdp: 0 }, along: [101, 1100], data: 1100 },
    { coordinates: { pipeline: 1, fsdp: 1 }, along: [1010, 1100], data: 1100 },
  ]);
  expect(found.map(([, , third]) => third!.data)).toEqual([1111, 1111, 1111, 1111]);
});

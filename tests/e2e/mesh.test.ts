import { expect, it } from 'vitest';
import { expectClose, resultsOfRanks } from '@acc/testkit';

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

interface Trained {
  readonly losses: number[];
  readonly weights: number[];
  readonly sums: number[];
  readonly refused: string[];
}

const training = new URL('./ranks/mesh-training.ts', import.meta.url);

function trainOn(sizes: Record<string, number>, ranks: number, engine: string): Promise<Trained[]> {
  const env = { OMP_NUM_THREADS: '1', ACC_COLLECTIVE_ENGINE: engine };
  return resultsOfRanks<Trained>({ script: training, ranks, args: [JSON.stringify(sizes)], env });
}

it('ranks that repeat the rows of a neighbour change nothing, and groups can be called at once', async () => {
  const [alone] = await trainOn({ data: 1 }, 1, 'auto');
  const small = await trainOn({ data: 2, tensor: 2 }, 4, 'shm');
  const large = await trainOn({ pipeline: 2, data: 2, tensor: 2 }, 8, 'gloo');
  for (const { losses, weights } of [...small, ...large]) {
    expectClose(losses, alone!.losses, { rtol: 1e-6 });
    expectClose(weights, alone!.weights, { rtol: 1e-6 });
  }
  expect(alone!.losses).toHaveLength(2);
  // Bit r of a sum shows whether rank r took part. The axes are outermost first.
  expect(small.map(({ sums }) => sums)).toEqual([
    [0b0101, 0b0011],
    [0b1010, 0b0011],
    [0b0101, 0b1100],
    [0b1010, 0b1100],
  ]);
  expect(alone!.refused).toEqual(['none', 'none']);
  for (const { refused } of small) expect(refused).toEqual(['ACC_STRATEGY_CANNOT', 'ACC_STRATEGY_CANNOT']);
  expect(large[5]!.sums).toEqual([0b00100010, 0b10100000, 0b00110000]);
});

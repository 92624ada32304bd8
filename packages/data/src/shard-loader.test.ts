import * as tf from '@tensorflow/tfjs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DataLoader, shardLoader } from './data-loader.js';
import type { ShardOptions } from './options.js';
import { collect, collectRanks, expectNoTensorsLeft, type RankEpoch } from './testing/collect.js';

const numbers = (n: number) => Array.from({ length: n }, (_, i) => i);
const code = (value: string) => expect.objectContaining({ code: value });
const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);

const cases = fc
  .record({
    samples: fc.nat(60),
    batchSize: fc.integer({ min: 1, max: 9 }),
    size: fc.constantFrom(1, 2, 3, 7),
    dropLast: fc.boolean(),
    seed: fc.option(fc.integer(), { nil: undefined }),
    splitBatches: fc.boolean(),
    evenBatches: fc.boolean(),
  })
  .filter(({ splitBatches, batchSize, size }) => !splitBatches || batchSize >= size);

/** The samples of each step, all ranks together: the real ones, then the filling. */
function stepsOf(ranks: readonly RankEpoch[]): { real: number[]; filling: number[] }[] {
  const steps = Math.max(...ranks.map(({ batches }) => batches.length));
  return Array.from({ length: steps }, (_, step) => {
    const real: number[] = [];
    const filling: number[] = [];
    ranks.forEach(({ batches, counts }, rank) => {
      const batch = (batches[step] ?? []) as number[];
      const realRows = counts[step]?.realRows[rank] ?? 0;
      real.push(...batch.slice(0, realRows));
      filling.push(...batch.slice(realRows));
    });
    return { real, filling };
  });
}

/** Checks the batches of the ranks of a group against the same loader's batches on one rank alone. */
function checkRanks(
  ranks: readonly RankEpoch[],
  full: number[][],
  options: Partial<ShardOptions> & { dropLast: boolean },
) {
  const size = ranks.length;
  const perStep = options.splitBatches ? 1 : size;
  const steps = stepsOf(ranks);
  expect(steps).toHaveLength((options.dropLast ? Math.floor : Math.ceil)(full.length / perStep));
  const order = full.flat();
  steps.forEach(({ real, filling }, step) => {
    expect(real).toEqual(full.slice(step * perStep, (step + 1) * perStep).flat());
    expect(filling).toEqual(filling.map((_, i) => order[i % order.length]));
    if (step < steps.length - 1 || options.dropLast || !options.evenBatches) expect(filling).toEqual([]);
  });
  ranks.forEach(({ batches, counts, ends }, rank) => {
    expect(ends).toBe(1);
    expect(counts.map(({ rows }) => rows[rank])).toEqual(batches.map((batch) => (batch as number[]).length));
    expect(counts.map(({ isLast }) => isLast)).toEqual(batches.map((_, i) => i === batches.length - 1));
    counts.forEach(({ rows, realRows }, step) => {
      expect(rows).toEqual(ranks.map((other) => (other.batches[step] as number[] | undefined)?.length ?? 0));
      expect(sum(realRows)).toBe(steps[step]!.real.length);
    });
    if (options.dropLast || options.evenBatches) expect(batches).toHaveLength(steps.length);
  });
}

describe('shardLoader', () => {
  it('distributes the batches of the plain loader step by step over any number of ranks', async () => {
    await fc.assert(
      fc.asyncProperty(
        cases,
        async ({ samples, batchSize, size, dropLast, seed, splitBatches, evenBatches }) => {
          const shuffle = seed !== undefined;
          const loader = () => new DataLoader(numbers(samples), { batchSize, dropLast, shuffle, seed });
          const full = (await collect(loader())) as number[][];
          const shard = { splitBatches, evenBatches };
          const ranks = await collectRanks(size, (options) => shardLoader(loader(), options), shard);
          checkRanks(ranks, full, { ...shard, dropLast });
          ranks.forEach(({ batches }, rank) => {
            expect(shardLoader(loader(), { ...shard, rank, size }).length).toBe(batches.length);
          });
        },
      ),
      { numRuns: 60 },
    );
  });

  it('distributes streams like arrays, and leaves nothing behind', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ samples, batchSize, size, dropLast, splitBatches, evenBatches }) => {
        async function* generate() {
          for (const i of numbers(samples)) yield tf.scalar(i);
        }
        const shard = { splitBatches, evenBatches };
        const options = { batchSize, dropLast };
        const array = new DataLoader(numbers(samples), options);
        const expected = await collectRanks(size, (part) => shardLoader(array, part), shard);
        await expectNoTensorsLeft(async () => {
          const stream = new DataLoader(generate, options);
          expect(await collectRanks(size, (part) => shardLoader(stream, part), shard)).toEqual(expected);
        });
      }),
      { numRuns: 40 },
    );
  });

  it('gives each rank different samples if nothing is filled', async () => {
    for (const size of [1, 2, 3, 7]) {
      const loader = () => new DataLoader(numbers(50), { batchSize: 4, shuffle: true });
      const ranks = await collectRanks(size, (part) => shardLoader(loader(), part), { evenBatches: false });
      const all = ranks.flatMap(({ batches }) => batches.flat()) as number[];
      expect(all.toSorted((a, b) => a - b)).toEqual(numbers(50));
    }
  });

  it('fills the last step with the first samples of the epoch', async () => {
    const ranks = await collectRanks(3, (part) =>
      shardLoader(new DataLoader(numbers(10), { batchSize: 2 }), part),
    );
    expect(ranks.map(({ batches }) => batches)).toEqual([
      [
        [0, 1],
        [6, 7],
      ],
      [
        [2, 3],
        [8, 9],
      ],
      [
        [4, 5],
        [0, 1],
      ],
    ]);
    expect(ranks[0]!.counts).toEqual([
      { rows: [2, 2, 2], realRows: [2, 2, 2], isLast: false },
      { rows: [2, 2, 2], realRows: [2, 2, 0], isLast: true },
    ]);
    const stream = new DataLoader(() => numbers(7), { batchSize: 2 });
    expect(await collect(shardLoader(stream, { rank: 2, size: 3 }))).toEqual([
      [4, 5],
      [2, 3],
    ]);
    const tiny = await collectRanks(3, (part) => shardLoader(new DataLoader([8, 9], { batchSize: 3 }), part));
    expect(tiny.map(({ batches }) => batches)).toEqual([[[8, 9]], [[8, 9, 8]], [[9, 8, 9]]]);
  });

  it('distributes 11 samples to 2 ranks, filled or not, with whole or split batches', async () => {
    for (const dataset of [numbers(11), () => numbers(11)]) {
      for (const splitBatches of [false, true]) {
        const loader = new DataLoader(dataset, { batchSize: splitBatches ? 4 : 2 });
        const deal = async (evenBatches: boolean) => {
          const shard = { splitBatches, evenBatches };
          return (await collectRanks(2, (part) => shardLoader(loader, part), shard)).map(
            ({ batches }) => batches,
          );
        };
        const first = [
          [0, 1],
          [4, 5],
          [8, 9],
        ];
        const second = [[2, 3], [6, 7], [10]];
        expect(await deal(true)).toEqual([first, second]);
        expect(await deal(false)).toEqual([first, second]);
      }
    }
  });

  it('drops the last step with dropLast if ranks would fill it, share it or have no rows in it', async () => {
    // [0, 1] and [2, 3], then [4, 5] and [6, 7]; 8, 9 and 10 are no full step of 2 ranks.
    const dropped = [
      [
        [0, 1],
        [4, 5],
      ],
      [
        [2, 3],
        [6, 7],
      ],
    ];
    const full = { rows: [2, 2], realRows: [2, 2] };
    for (const dataset of [numbers(11), () => numbers(11), tf.range(0, 11)]) {
      for (const shard of [
        { evenBatches: true },
        { evenBatches: false },
        { sharesLastStep: true },
        { splitBatches: true },
        { splitBatches: true, evenBatches: false },
      ]) {
        const batchSize = shard.splitBatches ? 4 : 2;
        const loader = new DataLoader(dataset, { batchSize, dropLast: true });
        const ranks = await collectRanks(2, (part) => shardLoader(loader, part), shard);
        expect(ranks.map(({ batches }) => batches)).toEqual(dropped);
        for (const { counts } of ranks) {
          expect(counts).toEqual([
            { ...full, isLast: false },
            { ...full, isLast: true },
          ]);
        }
        if (typeof dataset !== 'function')
          expect(shardLoader(loader, { ...shard, rank: 1, size: 2 })).toHaveLength(2);
      }
      if (dataset instanceof tf.Tensor) dataset.dispose();
    }
    const few = new DataLoader(numbers(3), { batchSize: 2, dropLast: true });
    const none = await collectRanks(2, (part) => shardLoader(few, part));
    expect(none.map(({ batches }) => batches)).toEqual([[], []]);
  });

  it('drops an incomplete step after a position of another number of ranks', async () => {
    for (const dataset of [numbers(14), () => numbers(14)]) {
      // After 6 samples come 6..9 and 10..13; counted from the start of the data, 12 and 13 would be left out.
      const state = { epoch: 0, position: 6 };
      const ranks = await collectRanks(2, (part) => {
        const loader = shardLoader(new DataLoader(dataset, { batchSize: 2, dropLast: true }), part);
        loader.setState(state);
        return loader;
      });
      expect(ranks.map(({ batches }) => batches)).toEqual([
        [
          [6, 7],
          [10, 11],
        ],
        [
          [8, 9],
          [12, 13],
        ],
      ]);
    }
  });

  it('fills nothing for one rank', async () => {
    const loader = new DataLoader(numbers(5), { batchSize: 2 });
    const [one] = await collectRanks(1, (part) => shardLoader(loader, part));
    expect(one!.batches).toEqual(await collect(loader));
  });

  it('fills columns with the first rows', async () => {
    const x = tf.range(0, 5);
    await expectNoTensorsLeft(async () => {
      const ranks = await collectRanks(2, (part) =>
        shardLoader(new DataLoader({ x }, { batchSize: 2 }), part),
      );
      expect(ranks.map(({ batches }) => batches)).toEqual([
        [{ x: [0, 1] }, { x: [4] }],
        [{ x: [2, 3] }, { x: [0, 1] }],
      ]);
    });
    x.dispose();
  });

  it('uses the seed of the shard for a loader without a seed', async () => {
    const order = async (own?: number, value?: number) =>
      collect(
        shardLoader(new DataLoader(numbers(20), { batchSize: 20, shuffle: true, seed: own }), {
          rank: 0,
          size: 1,
          seed: value,
        }),
      );
    expect(await order(undefined, 5)).toEqual(await order(5));
    expect(await order(5, 6)).toEqual(await order(5));
    expect(await order()).toEqual(await order(0));
    expect(await order(undefined, 5)).not.toEqual(await order());
  });

  it('shares the epoch with the loader, and refers to the whole data of a shard', async () => {
    const full = new DataLoader(numbers(8), { batchSize: 2, shuffle: true });
    const part = shardLoader(full, { rank: 1, size: 2 });
    const epochs = [await collect(part), await collect(part)];
    expect(epochs[0]).not.toEqual(epochs[1]);
    full.setEpoch(0);
    expect(await collect(part)).toEqual(epochs[0]);
    part.setEpoch(0);
    expect(await collect(shardLoader(part, { rank: 1, size: 2 }))).toEqual(epochs[0]);
    expect(part).toBeInstanceOf(DataLoader);
  });

  it('reports the end, and leaves nothing behind if the loop breaks or the callback throws', async () => {
    function* generate() {
      for (const i of numbers(20)) yield tf.scalar(i);
    }
    for (const dataset of [generate, tf.range(0, 20)]) {
      await expectNoTensorsLeft(async () => {
        for (const splitBatches of [false, true]) {
          const told: unknown[] = [];
          const loader = new DataLoader<tf.Tensor>(dataset, { batchSize: 3 });
          const options = { rank: 1, size: 3, splitBatches };
          const part = shardLoader(loader, { ...options, onBatch: (counts) => told.push(counts) });
          for await (const batch of part) {
            batch.dispose();
            break;
          }
          expect(told).toHaveLength(2);
          expect(told[1]).toBeUndefined();
          const onBatch = () => {
            throw new Error('the callback failed');
          };
          await expect(collect(shardLoader(loader, { ...options, onBatch }))).rejects.toThrow(
            'the callback failed',
          );
        }
      });
      if (dataset instanceof tf.Tensor) dataset.dispose();
    }
  });

  it.each([
    [{ rank: 2, size: 2 }, 'ACC_INVALID_OPTION'],
    [{ rank: -1, size: 2 }, 'ACC_INVALID_OPTION'],
    [{ rank: 0 }, 'ACC_INVALID_OPTION'],
    [{ rank: 0, size: 2, onBatch: 1 }, 'ACC_INVALID_OPTION'],
    [{ rank: 0, size: 2, evenBatch: true }, 'ACC_UNKNOWN_OPTION'],
    [{ rank: 0, size: 3, splitBatches: true }, 'ACC_DATA_SPLIT'],
  ])('refuses %o', (options, expected) => {
    const loader = new DataLoader([1, 2, 3], { batchSize: 2 });
    expect(() => shardLoader(loader, options as never)).toThrow(code(expected));
  });
});

import * as tf from '@tensorflow/tfjs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ShardOptions } from './options.js';
import { shardDataset } from './shard-dataset.js';
import { collect, collectRanks, expectNoTensorsLeft, plain } from './testing/collect.js';

const numbers = (n: number) => Array.from({ length: n }, (_, i) => i);
const code = (value: string) => expect.objectContaining({ code: value });

/** Batches of numbers counted from 0. */
const batched = (samples: number, batchSize: number) => tf.data.array(numbers(samples)).batch(batchSize);

/** Batches of these sizes; it doesn't know how many. */
const ofSizes = (sizes: readonly number[]) =>
  tf.data.generator(async function* () {
    let next = 0;
    for (const size of sizes) {
      yield { x: tf.range(next, next + size), y: tf.zeros([size, 1]) };
      next += size;
    }
  } as never);

const cases = fc.record({
  sizes: fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 12 }),
  size: fc.constantFrom(1, 2, 3, 7),
  evenBatches: fc.boolean(),
});

const x = (batch: unknown) => (batch as { x: number[] }).x;

describe('shardDataset', () => {
  it('gives batches to the ranks in turn and fills the last step with the first batches', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ sizes, size, evenBatches }) => {
        await expectNoTensorsLeft(async () => {
          const full = (await collect(shardDataset(ofSizes(sizes), { rank: 0, size: 1 }))).map(x);
          const part = (options: ShardOptions) => shardDataset(ofSizes(sizes), options);
          const ranks = await collectRanks(size, part, { evenBatches });
          const steps = Math.ceil(sizes.length / size);
          ranks.forEach(({ batches, counts, ends }, rank) => {
            const isShort = !evenBatches && (steps - 1) * size + rank >= sizes.length;
            expect(batches).toHaveLength(isShort ? Math.max(steps - 1, 0) : steps);
            expect(ends).toBe(1);
            batches.forEach((batch, step) => {
              expect(x(batch)).toEqual(full[(step * size + rank) % sizes.length]);
              expect(counts[step]!.isLast).toBe(step === batches.length - 1);
              expect(counts[step]!.realRows).toEqual(ranks.map((_, r) => full[step * size + r]?.length ?? 0));
              expect(counts[step]!.rows).toEqual(
                ranks.map((other) => (other.batches[step] ? x(other.batches[step]).length : 0)),
              );
            });
          });
        });
      }),
      { numRuns: 60 },
    );
  });

  it('leaves short batches to `batch`, and fills a step in which some ranks have no batch', async () => {
    const deal = async (full: tf.data.Dataset<tf.TensorContainer>, options: Partial<ShardOptions>) => {
      const ranks = await collectRanks(2, (part) => shardDataset(full, part), options);
      return ranks.map(({ batches }) => batches);
    };
    const eleven = tf.data.array(numbers(11));
    const shared = [
      [
        [0, 1],
        [4, 5],
        [8, 9],
      ],
      [[2, 3], [6, 7], [10]],
    ];
    expect(await deal(eleven.batch(2), {})).toEqual(shared);
    expect(await deal(eleven.batch(2), { evenBatches: false })).toEqual(shared);
    expect(await deal(eleven.batch(4), { splitBatches: true })).toEqual(shared);
    expect(await deal(eleven.batch(2, false), {})).toEqual([
      shared[0],
      [
        [2, 3],
        [6, 7],
        [0, 1],
      ],
    ]);
    expect(await deal(eleven.batch(2, false), { evenBatches: false })).toEqual([
      shared[0],
      [
        [2, 3],
        [6, 7],
      ],
    ]);
  });

  it('cuts batches with splitBatches, and the parts together are the batch', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ sizes, size, evenBatches }) => {
        await expectNoTensorsLeft(async () => {
          const part = (options: ShardOptions) => shardDataset(ofSizes(sizes), options);
          const ranks = await collectRanks(size, part, { evenBatches, splitBatches: true });
          let first = 0;
          const reads = ranks.map(() => 0);
          for (const batchRows of sizes) {
            const real = ranks.flatMap(({ batches, counts }, rank) => {
              const hasPart = evenBatches || rank < batchRows;
              if (!hasPart) return [];
              const step = reads[rank]!++;
              expect(counts[step]!.rows[rank]).toBe(x(batches[step]).length);
              expect(counts[step]!.rows.every((rows) => rows > 0 || !evenBatches)).toBe(true);
              expect(counts[step]!.isLast).toBe(step === batches.length - 1);
              return x(batches[step]).slice(0, counts[step]!.realRows[rank]);
            });
            expect(real).toEqual(numbers(batchRows).map((i) => first + i));
            first += batchRows;
          }
          expect(reads).toEqual(ranks.map(({ batches }) => batches.length));
        });
      }),
      { numRuns: 60 },
    );
  });

  it('knows how many batches the rank has', () => {
    const size = (dataset: { size: number | null }, options: ShardOptions) =>
      shardDataset(dataset as never as ReturnType<typeof batched>, options).size;
    expect(size(batched(50, 5), { rank: 0, size: 3 })).toBe(4);
    expect(size(batched(50, 5), { rank: 0, size: 3, evenBatches: false })).toBe(4);
    expect(size(batched(50, 5), { rank: 1, size: 3, evenBatches: false })).toBe(3);
    expect(size(batched(50, 5), { rank: 1, size: 3, splitBatches: true })).toBe(10);
    expect(size(batched(50, 5).repeat(), { rank: 1, size: 3 })).toBe(Infinity);
    expect(size(ofSizes([1]), { rank: 1, size: 3 })).toBeNull();
  });

  it('starts again in each epoch', async () => {
    const part = shardDataset(batched(8, 2), { rank: 1, size: 2 });
    const expected = [
      [2, 3],
      [6, 7],
    ];
    expect(await collect(part)).toEqual(expected);
    expect(await collect(part)).toEqual(expected);
  });

  it('refers to the whole dataset if it is given a shard', async () => {
    const part = shardDataset(batched(8, 2), { rank: 1, size: 2 });
    expect(await collect(shardDataset(part, { rank: 0, size: 1 }))).toHaveLength(4);
  });

  it('ignores a value that comes with done, as tf.data does', async () => {
    const generator = function* () {
      yield tf.ones([2]);
      return tf.ones([3]);
    };
    for (const splitBatches of [false, true]) {
      const part = shardDataset(tf.data.generator(generator as never), { rank: 0, size: 1, splitBatches });
      expect(await collect(part)).toEqual([[1, 1]]);
    }
  });

  it('passes a value that comes with done to tfjs-layers, which uses it', async () => {
    const values = [tf.tensor1d([0, 1]), tf.tensor1d([2, 3]), tf.tensor1d([4, 5])];
    const dataset = () => {
      let next = 0;
      return tf.data.generator(
        () => ({ next: () => ({ value: values[next]!.clone(), done: ++next === 3 }) }) as never,
      );
    };
    await expectNoTensorsLeft(async () => {
      const read = async (options: ShardOptions) =>
        (await shardDataset(dataset(), options).withResult().toArray()).map((batch) => {
          const values = plain(batch);
          tf.dispose(batch);
          return values;
        });
      expect(await read({ rank: 0, size: 2 })).toEqual([
        [0, 1],
        [4, 5],
      ]);
      expect(await read({ rank: 1, size: 2, evenBatches: false })).toEqual([[2, 3]]);
      expect(await read({ rank: 1, size: 2, splitBatches: true })).toEqual([[1], [3], [5]]);
    });
    tf.dispose(values);
  });

  it('accepts batches that their generator disposes after yielding them', async () => {
    const iterator = function* () {
      for (let i = 0; i < 5; i++) {
        const batch = { xs: tf.tensor1d([i, i]) };
        yield batch;
        batch.xs.dispose();
      }
    };
    // tfjs-layers asks a dataset for nothing but its iterator.
    const dataset = { iterator } as never as tf.data.Dataset<tf.TensorContainer>;
    await expectNoTensorsLeft(async () => {
      for (const size of [1, 2, 3]) {
        const seen: number[] = [];
        for (let rank = 0; rank < size; rank++) {
          const part = shardDataset(dataset, { rank, size });
          expect(part.size).toBeNull();
          for await (const batch of part) {
            seen.push((batch as unknown as { xs: tf.Tensor }).xs.dataSync()[0]!);
            tf.dispose(batch);
          }
        }
        const filling = [[], [], [0], [0]][size]!;
        expect(seen.sort()).toEqual([...filling, 0, 1, 2, 3, 4]);
      }
    });
  });

  it('does not split data without rows', async () => {
    const part = (dataset: tf.data.Dataset<tf.TensorContainer>) =>
      shardDataset(dataset, { rank: 0, size: 2, splitBatches: true });
    await expect(collect(part(tf.data.array([1, 2])))).rejects.toThrow(code('ACC_DATA_SPLIT'));
    const uneven = tf.data.array([1, 2]).map(() => ({ a: tf.ones([2]), b: tf.ones([3]) }));
    await expectNoTensorsLeft(async () => {
      await expect(collect(part(uneven))).rejects.toThrow(code('ACC_DATA_ROWS_DIFFER'));
    });
  });

  it.each([
    [{ rank: 2, size: 2 }, 'ACC_INVALID_OPTION'],
    [{ rank: 0, size: 2, seed: 1 }, 'ACC_UNKNOWN_OPTION'],
  ])('refuses %o', (options, expected) => {
    expect(() => shardDataset(batched(4, 2), options)).toThrow(code(expected));
  });
});

describe('a shard of a dataset is an instance of the dataset’s class', () => {
  const part = (options: Partial<ShardOptions> = {}) =>
    shardDataset(batched(8, 2), { rank: 1, size: 2, ...options });

  it('and can map, take, skip, zip, concatenate, prefetch and batch', async () => {
    expect(part()).toBeInstanceOf(tf.data.Dataset);
    const read = async (dataset: tf.data.Dataset<tf.TensorContainer>) => {
      const values = await dataset.toArray();
      const arrays = values.map(plain);
      tf.dispose(values);
      return arrays;
    };
    const [first, second] = [
      [2, 3],
      [6, 7],
    ];
    await expectNoTensorsLeft(async () => {
      expect(await read(part())).toEqual([first, second]);
      expect(await read(part().map((batch) => tf.mul(batch as tf.Tensor, 10)))).toEqual([
        [20, 30],
        [60, 70],
      ]);
      expect(await read(part().skip(1))).toEqual([second]);
      expect(await read(part().batch(2))).toEqual([[first, second]]);
      expect(await read(part().prefetch(3))).toEqual([first, second]);
      expect(await read(part().concatenate(part()))).toEqual([first, second, first, second]);
      expect(await read(tf.data.zip({ a: part(), b: part() }))).toEqual([
        { a: first, b: first },
        { a: second, b: second },
      ]);
      expect(await read(part().repeat(2))).toEqual([first, second, first, second]);
      const seen: unknown[] = [];
      await part().forEachAsync((batch) => {
        seen.push(plain(batch));
      });
      expect(seen).toEqual([first, second]);
    });
  });

  it('and trains and evaluates a model as the dataset does on one rank', async () => {
    const dataset = () =>
      tf.data.zip({
        xs: tf.data.array(numbers(12).map((i) => [i / 12, 1])).batch(3),
        ys: tf.data.array(numbers(12).map((i) => [i / 6])).batch(3),
      }) as tf.data.Dataset<tf.TensorContainer>;
    const train = async (data: tf.data.Dataset<tf.TensorContainer>) => {
      const dense = tf.layers.dense({ units: 1, inputShape: [2], kernelInitializer: 'ones' });
      const model = tf.sequential({ layers: [dense] });
      model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
      const { history } = await model.fitDataset(data, { epochs: 2, verbose: 0 });
      const loss = (await model.evaluateDataset(data as never, {} as never)) as tf.Scalar;
      const result = [...history['loss']!, loss.arraySync()];
      loss.dispose();
      model.dispose();
      return result;
    };
    const alone = await train(dataset());
    expect(await train(shardDataset(dataset(), { rank: 0, size: 1 }))).toEqual(alone);
    await expectNoTensorsLeft(async () => {
      const counts: unknown[] = [];
      const options = { rank: 1, size: 3, onBatch: (count: unknown) => counts.push(count) };
      await train(shardDataset(dataset(), options));
      // Two epochs of training and one of evaluation, of two batches and an end each.
      expect(counts).toHaveLength(9);
    });
  });

  it('and holds nothing after closeIterators or break', async () => {
    await expectNoTensorsLeft(async () => {
      const told: unknown[] = [];
      const left = part({ rank: 1, size: 3, onBatch: (counts) => told.push(counts) });
      const iterator = await left.iterator();
      const { value } = await iterator.next();
      tf.dispose(value);
      await left.closeIterators();
      expect(told.at(-1)).toBeUndefined();
      expect(await iterator.next()).toEqual({ value: null, done: true });
      for await (const batch of left) {
        tf.dispose(batch);
        break;
      }
      await (await left.take(1).iterator()).forEachAsync(() => {});
      await left.closeIterators();
    });
  });

  it('and leaves nothing behind if the data fails', async () => {
    const failing = (batches: number) =>
      tf.data.generator(async function* () {
        for (let i = 0; i < batches; i++) yield tf.ones([2]);
        throw new Error('no more');
      } as never);
    await expectNoTensorsLeft(async () => {
      for (const splitBatches of [false, true]) {
        for (const batches of [0, 1, 2, 3, 4, 5]) {
          const dataset = shardDataset(failing(batches), { rank: 1, size: 3, splitBatches });
          await expect(collect(dataset)).rejects.toThrow('no more');
          await expect(dataset.forEachAsync(() => {})).rejects.toThrow('no more');
        }
      }
    });
  });
});

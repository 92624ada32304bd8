import * as tf from '@tensorflow/tfjs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shardBatches } from './shard-batches.js';
import { shardDataset } from './shard-dataset.js';
import { collectRanks, expectNoTensorsLeft } from './testing/collect.js';

const code = (value: string) => expect.objectContaining({ code: value });

describe('shardBatches', () => {
  it('distributes a list as shardDataset distributes a dataset, and leaves the list unchanged', async () => {
    const cases = fc.record({
      sizes: fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 9 }),
      size: fc.constantFrom(1, 2, 3, 7),
      evenBatches: fc.boolean(),
      splitBatches: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ sizes, size, evenBatches, splitBatches }) => {
        const list = sizes.map((rows, i) => ({
          xs: tf.range(10 * i, 10 * i + rows),
          ys: [tf.ones([rows, 2])],
        }));
        const options = { evenBatches, splitBatches };
        await expectNoTensorsLeft(async () => {
          const dataset = tf.data.array(list as never[]);
          const expected = await collectRanks(size, (part) => shardDataset(dataset, part), options);
          expect(await collectRanks(size, (part) => shardBatches(list, part), options)).toEqual(expected);
          expected.forEach(({ batches }, rank) => {
            expect(shardBatches(list, { ...options, rank, size })).toHaveLength(batches.length);
          });
        });
        tf.dispose(list);
      }),
      { numRuns: 60 },
    );
  });

  it('leaves nothing behind when the loop breaks', async () => {
    const list = [tf.ones([2]), tf.ones([2]), tf.ones([2])];
    await expectNoTensorsLeft(async () => {
      for await (const batch of shardBatches(list, { rank: 0, size: 2 })) {
        batch.dispose();
        break;
      }
    });
    expect(list.some(({ isDisposed }) => isDisposed)).toBe(false);
    tf.dispose(list);
  });

  it('refuses unknown options, and batches that it cannot split', async () => {
    expect(() => shardBatches([], { rank: 0, size: 1, batchSize: 2 } as never)).toThrow(
      code('ACC_UNKNOWN_OPTION'),
    );
    const list = [{ x: tf.ones([2]), y: tf.ones([3]) }];
    const options = { rank: 0, size: 2, splitBatches: true };
    await expect(collectRanks(1, () => shardBatches(list, options))).rejects.toThrow(
      code('ACC_DATA_ROWS_DIFFER'),
    );
    tf.dispose(list);
  });
});

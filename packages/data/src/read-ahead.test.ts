import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { DataLoader, shardLoader } from './data-loader.js';
import { shardDataset } from './shard-dataset.js';
import { collect, expectNoTensorsLeft } from './testing/collect.js';

const numbers = (n: number) => Array.from({ length: n }, (_, i) => i);

describe('prefetch', () => {
  it('yields the same batches of every kind of data, and leaves nothing behind', async () => {
    async function* generate() {
      for (const i of numbers(11)) yield tf.scalar(i);
    }
    const get = async (i: number) => tf.scalar(i);
    for (const dataset of [generate, { length: 11, get }, numbers(11)]) {
      await expectNoTensorsLeft(async () => {
        const plain = new DataLoader(dataset as number[], { batchSize: 2 });
        const ahead = new DataLoader(dataset as number[], { batchSize: 2, prefetch: 3 });
        expect(await collect(ahead)).toEqual(await collect(plain));
        for await (const batch of ahead) {
          tf.dispose(batch);
          break;
        }
      });
    }
    await expectNoTensorsLeft(async () => {
      const dataset = () =>
        tf.data.generator(function* () {
          for (const i of numbers(7)) yield { x: tf.tensor1d([i]) };
        });
      const part = (prefetch: number) => shardDataset(dataset(), { rank: 1, size: 2, prefetch });
      expect(await collect(part(2))).toEqual(await collect(part(0)));
    });
  });

  it('makes as many batches ahead as it says, and counts only those that were yielded', async () => {
    const asked: number[] = [];
    const get = async (i: number) => {
      asked.push(i);
      return i;
    };
    const make = () => new DataLoader({ length: 20, get }, { batchSize: 2, prefetch: 2, shuffle: true });
    const first = make();
    const seen: number[] = [];
    for await (const batch of first) {
      seen.push(...(batch as tf.Tensor).dataSync());
      tf.dispose(batch);
      if (seen.length === 6) break;
    }
    // Three batches that were yielded, two ahead of the third.
    expect(asked.length).toBeLessThanOrEqual(10);
    expect(asked.length).toBeGreaterThanOrEqual(8);
    const stopped = make();
    const it = stopped[Symbol.asyncIterator]();
    for (let i = 0; i < 3; i++) tf.dispose((await it.next()).value as tf.Tensor);
    const state = stopped.getState();
    await it.return?.();
    const resumed = shardLoader(make(), { rank: 0, size: 1 });
    resumed.setState(state);
    const rest = (await collect(resumed)).flat() as number[];
    expect([...seen, ...rest].sort((a, b) => a - b)).toEqual(numbers(20));
  });

  it('keeps batches that are made ahead from scopes of the loop, and gives them to its scope', async () => {
    await expectNoTensorsLeft(async () => {
      const loader = new DataLoader(numbers(8), { batchSize: 2, prefetch: 2 });
      const sums: number[] = [];
      const it = loader[Symbol.asyncIterator]();
      for (;;) {
        tf.engine().startScope();
        const { value, done } = await it.next();
        if (!done) sums.push((value as tf.Tensor).sum().dataSync()[0]!);
        tf.engine().endScope();
        if (done) break;
      }
      expect(sums).toEqual([1, 5, 9, 13]);
    });
  });

  it('throws an error when it is the turn of the batch', async () => {
    const get = async (i: number) => {
      if (i === 5) throw new Error('no such file');
      return tf.scalar(i);
    };
    await expectNoTensorsLeft(async () => {
      const seen: unknown[] = [];
      const read = async () => {
        for await (const batch of new DataLoader({ length: 9, get }, { batchSize: 2, prefetch: 4 })) {
          seen.push(...(batch as tf.Tensor).dataSync());
          tf.dispose(batch as tf.Tensor);
        }
      };
      await expect(read()).rejects.toThrow('no such file');
      expect(seen).toEqual([0, 1, 2, 3]);
    });
  });
});

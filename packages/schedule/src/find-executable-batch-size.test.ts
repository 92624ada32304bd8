import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { AccError } from '@acc/contract';
import { registerAccBackend } from '@acc/kernels';
import { liveTensors } from '@acc/native';
import { findExecutableBatchSize } from './find-executable-batch-size.js';

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
});
afterEach(() => tf.disposeVariables());

const counts = () => [tf.memory().numTensors, tf.memory().numDataBuffers, liveTensors()];
/** 2 TiB a sample. */
const huge = (samples: number) => tf.fill([samples, 2 ** 39], 0);

describe('findExecutableBatchSize', () => {
  it('halves until native memory suffices, and leaves nothing of failed attempts', async () => {
    const before = counts();
    const tried: number[] = [];
    const result = await findExecutableBatchSize(
      async (batchSize) => {
        tried.push(batchSize);
        if (batchSize <= 3) return `fits ${batchSize}`;
        const w = tf.variable(tf.ones([4]));
        const optimizer = tf.train.adam(0.1);
        optimizer.minimize(() => w.square().sum() as tf.Scalar, false, [w]);
        await Promise.resolve();
        return tf.tidy(() => huge(batchSize));
      },
      { startingBatchSize: 13 },
    );
    expect(result).toBe('fits 3');
    expect(tried).toEqual([13, 6, 3]);
    expect(counts()).toEqual(before);
  });

  it('tries the sizes that `reduce` returns', async () => {
    const tried: number[] = [];
    const search = (reduce: (batchSize: number) => number) =>
      findExecutableBatchSize(
        (batchSize) => {
          tried.push(batchSize);
          return batchSize < 8 ? batchSize : huge(batchSize);
        },
        { startingBatchSize: 10, reduce },
      );
    expect(await search((size) => size - 1)).toBe(7);
    expect(tried).toEqual([10, 9, 8, 7]);
    const error = (problem: string) =>
      expect.objectContaining({
        code: 'ACC_INVALID_OPTION',
        message: expect.stringContaining(problem) as string,
      });
    await expect(search((size) => size)).rejects.toThrow(error('returns 10 for 10'));
    await expect(search((size) => size * 0.95)).rejects.toThrow(error('returns 9.5 for 10'));
    await expect(search('half' as never)).rejects.toThrow(error('half, not a function'));
    await expect(search((size) => size - 16)).rejects.toMatchObject({ code: 'ACC_NO_BATCH_SIZE' });
  });

  it('leaves no more tensors than a single attempt that fits', async () => {
    const fn = (batchSize: number) => {
      const created = tf.ones([8]);
      const kept = tf.keep(tf.ones([8]));
      const w = tf.variable(tf.ones([2]));
      if (batchSize > 1) huge(batchSize);
      return [created, kept, w];
    };
    const before = counts();
    const [made, kept, w] = await findExecutableBatchSize(fn, { startingBatchSize: 16 });
    expect(made!.isDisposed || kept!.isDisposed || w!.isDisposed).toBe(false);
    const own = counts().map((count, i) => count - before[i]!);
    tf.dispose([made!, kept!, w!]);
    const direct = counts();
    fn(1);
    expect(counts().map((count, i) => count - direct[i]!)).toEqual(own);
  });

  it('reports that nothing fits, with the cause', async () => {
    const error = await findExecutableBatchSize(huge, { startingBatchSize: 4 }).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'ACC_NO_BATCH_SIZE' });
    expect((error as Error).cause).toMatchObject({ code: 'ACC_OUT_OF_MEMORY' });
  });

  it('tries no smaller size on a device that has failed', async () => {
    let calls = 0;
    const fail = () => {
      calls++;
      throw new AccError('ACC_DEVICE_FAILED', 'out of memory in an earlier kernel');
    };
    const size = findExecutableBatchSize(fail, { startingBatchSize: 8 });
    await expect(size).rejects.toMatchObject({ code: 'ACC_DEVICE_FAILED' });
    expect(calls).toBe(1);
  });

  it('passes other errors on at once', async () => {
    let calls = 0;
    const fail = () => {
      calls++;
      throw new TypeError('mine');
    };
    await expect(findExecutableBatchSize(fail, { startingBatchSize: 8 })).rejects.toThrow('mine');
    expect(calls).toBe(1);
  });

  it.each([
    [{ startingBatchSize: 0 }, 'ACC_INVALID_OPTION'],
    [{ startingBatchsize: 8 }, 'ACC_UNKNOWN_OPTION'],
  ])('refuses %j', async (options, code) => {
    await expect(findExecutableBatchSize(() => 1, options as never)).rejects.toMatchObject({ code });
  });
});

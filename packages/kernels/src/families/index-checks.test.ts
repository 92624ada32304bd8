import * as tf from '@tensorflow/tfjs-core';
import { describe, expect, it } from 'vitest';
import { liveTensors, operator, tensorFrom, torchVersion } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { StepRecorder } from '../recording/recorder.js';
import { registerAccBackend } from '../register-backend.js';
import { IndexChecks } from './index-checks.js';
import { withIndicesChecked } from './indexing.js';

const select = operator('aten::index_select');
const error = (index: number, size: number) =>
  expect.objectContaining({ code: 'ACC_INDEX_OUT_OF_RANGE', details: { index, size } }) as Error;

function lookUp(indexChecks: IndexChecks, indices: number[], size = 3, kernelName = 'GatherV2'): number[] {
  using table = tensorFrom(
    Float32Array.from({ length: size }, (_, i) => i),
    'float32',
    [size],
  );
  using index = tensorFrom(Int32Array.from(indices), 'int32', [indices.length]);
  using found = withIndicesChecked({ indexChecks }, { kernelName, size }, index, (checked) =>
    select(table, 0, checked),
  );
  return [...(found.read() as Float32Array)];
}

describe('indices on a device', () => {
  it('are clamped, and the next report names the lowest or the highest one', () => {
    torchVersion();
    const checks = new IndexChecks();
    expect(lookUp(checks, [0, 2, 1])).toEqual([0, 2, 1]);
    checks.report();
    expect(lookUp(checks, [0, 5, 1])).toEqual([0, 2, 1]);
    expect(lookUp(checks, [2, 1])).toEqual([2, 1]);
    expect(() => checks.report()).toThrowError(error(5, 3));
    checks.report();
    expect(lookUp(checks, [1, -4])).toEqual([1, 0]);
    expect(() => checks.report()).toThrowError(error(-4, 3));
  });

  it('are told apart by their kernel and size in the next report, however many there are', () => {
    const checks = new IndexChecks();
    for (let size = 1; size <= 1030; size++) lookUp(checks, [size - 1], size);
    checks.report();
    lookUp(checks, [3], 3);
    for (let size = 1; size <= 1030; size++) lookUp(checks, [0], size);
    expect(() => checks.report()).toThrowError(error(3, 3));
    checks.report();
    for (const [index, message] of [
      [-2, 'the index value -2 is below 0'],
      [1030, 'an index is 1 too large'],
    ] as const) {
      lookUp(checks, [index], 1030);
      expect(() => checks.report()).toThrowError(message);
    }
  });

  it('are exact at the ends of int32', async () => {
    const checks = new IndexChecks();
    lookUp(checks, [-(2 ** 31)]);
    await expect(checks.reportAsync()).rejects.toThrowError(error(-(2 ** 31), 3));
    lookUp(checks, [2 ** 31 - 1]);
    await expect(checks.reportAsync()).rejects.toThrowError(error(2 ** 31 - 1, 3));
    await checks.reportAsync();
  });

  it.each([false, true])('are noted by replays of a step: fuse %s', async (fuse) => {
    registerAccBackend();
    await tf.setBackend('acc');
    const acc = tf.backend() as AccBackend;
    const indexChecks = new IndexChecks();
    Object.assign(acc, { indexChecks });
    const table = tf.tensor1d([1, 2, 3]);
    const right = tf.tensor1d([0, 2], 'int32');
    const wrong = tf.tensor1d([7, 1], 'int32');
    const { recording } = new StepRecorder(acc).record([right], () => [
      tf.add(tf.mul(tf.gather(table, right), 2), 1),
    ]);
    if (typeof recording === 'string') throw new Error(recording);
    recording.seal(fuse);
    indexChecks.report();
    for (const [index, values] of [
      [right, [3, 7]],
      [wrong, [7, 5]],
    ] as const) {
      const [found] = recording.replay([index]) as tf.Tensor[];
      if (index === wrong) expect(() => found!.dataSync()).toThrowError(error(7, 3));
      expect([...found!.dataSync()]).toEqual(values);
    }
    recording.dispose();
  });

  it('leave no tensors behind, and none are noted of an empty list', () => {
    const checks = new IndexChecks();
    lookUp(checks, []);
    const before = liveTensors();
    lookUp(checks, [7]);
    lookUp(checks, []);
    expect(liveTensors()).toBe(before);
  });
});

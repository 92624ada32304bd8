import { readFileSync } from 'node:fs';
import * as tf from '@tensorflow/tfjs-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { registerAccBackend } from './register-backend.js';
import { OWN_KERNELS } from './own-kernels.js';
import { expectSameAsCpu } from './testing/compare.js';

beforeAll(() => registerAccBackend());

/** The table in README.md gives the reason for each of them. */
const FALLBACKS = [
  'BroadcastArgs',
  'Draw',
  'NonMaxSuppressionV3',
  'NonMaxSuppressionV4',
  'NonMaxSuppressionV5',
  'RaggedGather',
  'RaggedRange',
  'RaggedTensorToTensor',
  'SparseFillEmptyRows',
  'SparseReshape',
  'SparseSegmentMean',
  'SparseSegmentSum',
  'StaticRegexReplace',
  'StringNGrams',
  'StringSplit',
  'StringToHashBucketFast',
];

describe('kernels that fall back to cpu', () => {
  it('are exactly those of the list, and none of them has a gradient', () => {
    const native = new Set(OWN_KERNELS.map(({ kernelName }) => kernelName));
    const all = tf.getKernelsForBackend('acc').map(({ kernelName }) => kernelName);
    expect(all.length).toBe(new Set(all).size);
    expect(all.filter((name) => !native.has(name)).sort()).toEqual(FALLBACKS);
    expect(FALLBACKS.filter((name) => tf.getGradient(name))).toEqual([]);
  });

  it('are those that README.md explains', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
    const [, table] = /## Kernels that run on cpu\n([^]*?)\n## /.exec(readme)!;
    const named = table!.split('\n').flatMap((line) => {
      const [, names = ''] = line.split('|');
      return [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    });
    expect(named.sort()).toEqual(FALLBACKS);
  });

  it('accept lists of tensors among their inputs, and return several tensors', () =>
    expectSameAsCpu(() => {
      const splits = [tf.tensor1d([0, 2, 3], 'int32')];
      const { outputNestedSplits, outputDenseValues } = tf.raggedGather(
        splits,
        tf.tensor1d([1, 2, 3]),
        tf.tensor1d([1, 0, 1], 'int32'),
        1,
      );
      return [...outputNestedSplits, outputDenseValues];
    }));

  it('accept and return strings', () =>
    expectSameAsCpu(() => {
      const texts = tf.tensor1d(['a b', 'c'], 'string');
      const { indices, values, shape } = tf.string.stringSplit(texts, tf.scalar(' ', 'string'));
      return [indices!, values!, shape!];
    }));

  it('leave no copies on cpu, also if they throw', async () => {
    await tf.setBackend('acc');
    const cpu = tf.findBackend('cpu');
    const before = cpu.numDataIds();
    tf.tidy(() => {
      tf.unique(tf.tensor1d([3, 1, 3]));
      const outside = tf.tensor1d([9], 'int32');
      expect(() =>
        tf.raggedGather([tf.tensor1d([0, 1], 'int32')], tf.tensor1d([1]), outside, 1),
      ).toThrowError();
    });
    expect(cpu.numDataIds()).toBe(before);
  });
});

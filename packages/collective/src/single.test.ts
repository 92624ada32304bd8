import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import type { ReduceOp } from '@acc/contract';
import { SingleCollective } from './single.js';

const alone = new SingleCollective();

describe('a group of one', () => {
  it.each<[string, string, (x: tf.Tensor) => unknown]>([
    ['an unknown reduction', 'ACC_INVALID_ARGUMENT', (x) => alone.allReduce(x, 'avg' as ReduceOp)],
    ['the mean of integers', 'ACC_COLLECTIVE_DTYPE', (x) => alone.allReduce(x.toInt(), 'mean')],
    [
      'integers in 16 bits',
      'ACC_COLLECTIVE_DTYPE',
      (x) => alone.allReduceAsync(x.toInt(), 'sum', { wireDtype: 'float16' }),
    ],
    ['strings', 'ACC_COLLECTIVE_DTYPE', () => alone.allGather(tf.tensor(['a']))],
    ['another rank', 'ACC_COLLECTIVE_RANK', (x) => alone.broadcast(x, 9)],
    ['objects that cannot travel', 'ACC_OBJECT_NOT_SERIALIZABLE', () => alone.broadcastObject(() => 1)],
  ])('refuses what several ranks would refuse: %s', (_, code, call) => {
    tf.tidy(() => {
      const x = tf.ones([2]);
      expect(() => call(x)).toThrowError(expect.objectContaining({ code }));
    });
  });

  it('accepts the options of shards', () => {
    const before = tf.memory().numTensors;
    const make = () => tf.tensor2d([[1], [2]]);
    const options = { donate: true, agreed: true, even: true, wireDtype: 'bfloat16' } as const;
    const results = [
      alone.allGather(make(), { ...options, into: make() }),
      alone.reduceScatter(make(), 'mean', { ...options, into: make() }),
      ...alone.allGatherCoalesced([make(), make()], { ...options, into: [make(), make()] }),
      ...alone.reduceScatterCoalesced([make(), make()], 'sum', { ...options, into: [make(), make()] }),
    ];
    for (const x of results) expect(x.arraySync()).toEqual([[1], [2]]);
    tf.dispose(results);
    expect(tf.memory().numTensors).toBe(before);
    tf.tidy(() => {
      const into = tf.zeros([3]);
      for (const call of [
        () => alone.allGather(make(), { into }),
        () => alone.reduceScatter(make(), 'sum', { into }),
        () => alone.allGatherCoalesced([make()], { into: [] }),
      ]) {
        expect(call).toThrowError(expect.objectContaining({ code: 'ACC_COLLECTIVE_SHAPE' }));
      }
    });
  });

  it('has one sub-group, which is itself', () => {
    expect(alone.subgroup([0])).toMatchObject({ rank: 0, size: 1, worldRanks: [0] });
    for (const ranks of [[], [1], [0, 0]]) {
      expect(() => alone.subgroup(ranks)).toThrowError(
        expect.objectContaining({ code: 'ACC_COLLECTIVE_RANK' }),
      );
    }
  });

  it('copies objects, as several ranks would', () => {
    const given = { values: Float32Array.of(1, NaN), list: [1] };
    const [got] = alone.allGatherObject(given);
    expect(got).toEqual(given);
    got!.list.push(2);
    expect(given.list).toEqual([1]);
  });

  it('returns two tensors if one tensor is donated twice', () => {
    tf.tidy(() => {
      const x = tf.ones([2]);
      const [first, second] = alone.allReduceCoalesced([x, x], 'sum', { donate: true });
      first!.dispose();
      expect([...second!.dataSync()]).toEqual([1, 1]);
    });
  });
});

import * as tf from '@tensorflow/tfjs';
import { describe, expect, it } from 'vitest';
import { SingleCollective } from '@acc/collective';
import { Adoption, type AdoptionOptions } from '../prepare/adoption.js';
import { Joinable } from './joinable.js';

describe('collectives within joinUnevenInputs', () => {
  it('refuse exactly the verbs that ranks without data could not take part in', () => {
    const joinable = new Joinable(new SingleCollective());
    const { collective } = joinable;
    const scatter = () => tf.tidy(() => [...collective.scatter(tf.ones([2])).dataSync()]);
    expect(scatter()).toEqual([1, 1]);
    joinable.begin();
    expect(scatter).toThrowError(expect.objectContaining({ code: 'ACC_JOIN_COLLECTIVE' }));
    const told = (code: string, message: string) =>
      expect.objectContaining({ code, message: expect.stringContaining(message) as string }) as Error;
    expect(() => collective.reduceScatterFlat([tf.ones([2])])).toThrowError(
      told('ACC_JOIN_COLLECTIVE', 'reduceScatterFlat cannot be called within joinUnevenInputs'),
    );
    expect(() => collective.allGatherFlatAsync([tf.ones([2])])).toThrowError(
      told('ACC_JOIN_COLLECTIVE', 'allGatherFlat'),
    );
    expect(joinable.countActive()).toBe(1);
    expect(tf.tidy(() => [...collective.allReduce(tf.tensor1d([4, 6]), 'mean').dataSync()])).toEqual([4, 6]);
    expect(collective.allGatherObject('a')).toEqual(['a']);
    expect(collective.broadcastObject('b')).toBe('b');
    const all = tf.tidy(() =>
      [
        collective.reduceScatter(tf.tensor1d([4, 6]), 'mean', { into: tf.zeros([2]) }),
        ...collective.reduceScatterCoalesced([tf.tensor1d([4, 6])], 'mean', { donate: true }),
        collective.allGather(tf.tensor1d([4, 6]), { even: true, wireDtype: 'float16' }),
        ...collective.allGatherCoalesced([tf.tensor1d([4, 6])], { donate: true, into: [tf.zeros([2])] }),
      ].map((x) => [...x.dataSync()]),
    );
    expect(all).toEqual(Array.from({ length: 4 }, () => [4, 6]));
    expect(joinable.shadow()).toBe(0);
    joinable.end();
    expect(scatter()).toEqual([1, 1]);
  });
});

it('variables that a rank without data was not offered are named, each once', () => {
  const ranks = (...others: readonly string[][]) => {
    const allGatherObject = (own: object) => [...others.map((names) => ({ ...own, names })), own];
    return new Adoption({ collective: { allGatherObject } } as unknown as AdoptionOptions);
  };
  expect(() => ranks([], []).agree([{}])).not.toThrow();
  expect(() => ranks(['a', 'b'], ['b', 'a']).agree([{}])).toThrowError(
    expect.objectContaining({
      code: 'ACC_VARIABLES_DIFFER',
      details: { rank: 2, names: ['a', 'b'] },
    }) as Error,
  );
  expect(() => ranks(['a'], ['a', 'b']).agree([{}])).toThrowError(
    expect.objectContaining({
      message: expect.stringMatching(/offered .* rank 0 had no data: b\./) as string,
    }),
  );
});

import * as tf from '@tensorflow/tfjs';
import { afterEach, expect, it } from 'vitest';
import { AmaxHistories, type AmaxState } from './amax-histories.js';

afterEach(() => tf.disposeVariables());

const weight = (name: string) => tf.variable(tf.ones([2, 2]), true, name);
const entry = (name: string, amax: number) => ({
  name,
  rows: [
    [0, amax],
    [0, amax],
    [0, amax],
  ],
});
const amaxesOf = (state: AmaxState) => state.map(({ name, rows }) => [name, rows[0]![1]]);

it('gives loaded histories to weights of their names, now and when they become known', () => {
  const histories = new AmaxHistories(1);
  histories.take([weight('b')]);
  histories.setState([entry('a', 1), entry('b', 2), entry('gone', 3)]);
  histories.take([weight('other'), weight('a')]);
  histories.requireLoaded();
  expect(amaxesOf(histories.getState())).toEqual([
    ['b', 2],
    ['other', 0],
    ['a', 1],
    ['gone', 3],
  ]);
});

it('gives them in order to weights of other names, and refuses a step without enough of those', () => {
  const histories = new AmaxHistories(1);
  histories.take([weight('c')]);
  histories.setState([entry('a', 1), entry('b', 2)]);
  expect(() => histories.requireLoaded()).toThrowError(
    expect.objectContaining({ code: 'ACC_STATE_INVALID' }) as Error,
  );
  histories.take([weight('d'), weight('other')]);
  histories.requireLoaded();
  expect(amaxesOf(histories.getState())).toEqual([
    ['c', 1],
    ['d', 2],
  ]);
  // Only the weights of earlier steps are those of a checkpoint.
  histories.setState([entry('other', 3), entry('b', 4)]);
  expect(amaxesOf(histories.getState())).toEqual([
    ['c', 3],
    ['d', 4],
  ]);
});

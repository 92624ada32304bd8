import * as tf from '@tensorflow/tfjs';
import { beforeAll, expect, it } from 'vitest';
import { isLive, registeredVariable } from './live-variables.js';

beforeAll(() => tf.setBackend('cpu'));

it('a variable is live until it is disposed, by itself or by disposeVariables', () => {
  const make = (name: string) => tf.tidy(() => tf.variable(tf.scalar(1), true, name));
  const [one, two] = [make('one'), make('two')] as const;
  expect([one, two].map(isLive)).toEqual([true, true]);
  one.dispose();
  expect([one, two].map(isLive)).toEqual([false, true]);
  tf.disposeVariables();
  // tfjs does not report the disposal.
  expect(two.isDisposed).toBe(false);
  expect(isLive(two)).toBe(false);
  const next = make('two');
  expect([two, next].map(isLive)).toEqual([false, true]);
  expect(registeredVariable('two')).toBe(next);
  next.dispose();
});

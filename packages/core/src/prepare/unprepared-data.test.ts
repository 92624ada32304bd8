import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import type { StepInfo } from '@acc/contract';
import { noteUnprepared } from '@acc/data';
import { unpreparedData } from './unprepared-data.js';

const SHARED = { isShared: true, isInFit: false } as StepInfo;
const LOCAL = { isShared: false, isInFit: false } as StepInfo;
const IN_FIT = { isShared: true, isInFit: true } as StepInfo;

/** One of two ranks that both have the given batch. `answers` is the number of ranks that answer. */
function rank({ answers = 2, isPrepared = false } = {}) {
  const found = { calls: 0, warnings: [] as string[], isJoining: false };
  const allGatherObject = <T>(own: T): T[] => {
    found.calls++;
    return Array<T>(answers).fill(own);
  };
  const plugin = unpreparedData({
    ranks: { size: 2, allGatherObject },
    hasPreparedBatch: () => isPrepared,
    isJoining: () => found.isJoining,
    warn: (message) => found.warnings.push(message),
  });
  const step = (info = SHARED, count = 1) => {
    for (let i = 0; i < count; i++) {
      noteUnprepared({ xs: tf.ones([2]) });
      plugin.afterStep!(info);
    }
    return [found.calls, found.warnings.length];
  };
  return { found, plugin, step };
}

it('ranks compare their batches once, at the first step that they take together', () => {
  const { found, step } = rank();
  expect(step(LOCAL, 3)).toEqual([0, 0]);
  expect(step()).toEqual([1, 1]);
  expect(step(SHARED, 100)).toEqual([1, 1]);
  expect(found.warnings[0]).toContain('unless the program divides each batch itself');
});

it.each([
  ['prepared data', rank({ isPrepared: true }), SHARED],
  ['fit', rank(), IN_FIT],
])('ranks with %s take part in the comparison, whatever others do, and are not warned', (_, { step }, info) =>
  expect(step(info)).toEqual([1, 0]),
);

it('ranks whose inputs are uneven do not compare, neither inside nor after it', () => {
  const { found, step } = rank();
  found.isJoining = true;
  expect(step()).toEqual([0, 0]);
  found.isJoining = false;
  expect(step()).toEqual([0, 0]);
});

it('a rank that had no data inside of it does not compare afterwards', () => {
  const { plugin, step } = rank();
  plugin.rejoin!({} as never);
  expect(step()).toEqual([0, 0]);
});

it('ranks that have not all answered are not warned', () =>
  expect(rank({ answers: 1 }).step()).toEqual([1, 0]));

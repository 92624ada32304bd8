import { expect, it } from 'vitest';
import { Window } from './window.js';

const closings = (steps: number, lasts: readonly boolean[]) => {
  const window = new Window(steps);
  return lasts.map((isLast) => (window.next(isLast) ? 1 : 0));
};

it('closes with every n-th micro-batch', () => {
  expect(closings(3, Array<boolean>(7).fill(false))).toEqual([0, 0, 1, 0, 0, 1, 0]);
  expect(closings(1, [false, false, true])).toEqual([1, 1, 1]);
});

it('closes with the last micro-batch of the data, and counts anew after it', () => {
  expect(closings(3, [false, true, false, false, false, true])).toEqual([0, 1, 0, 0, 1, 1]);
});

it('counts anew after a reset', () => {
  const window = new Window(2);
  window.next(false);
  window.reset();
  expect([window.next(false), window.next(false)]).toEqual([false, true]);
});

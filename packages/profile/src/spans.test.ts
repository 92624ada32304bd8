import { expect, it } from 'vitest';
import { Spans } from './spans.js';

it('a trace with too many operators ends with the last whole step', () => {
  const spans = new Spans(true, 5);
  for (let step = 0; step < 3; step++) {
    const start = 10 * step;
    spans.add('operators', 'a', [start + 1, start + 2]);
    spans.add('operators', 'b', [start + 2, start + 3]);
    spans.add('phases', 'forward', [start, start + 9]);
    spans.add('steps', `step ${step}`, [start, start + 10]);
  }
  expect(spans.isFull).toBe(true);
  // The third step has the sixth operator.
  expect(spans.all.filter(({ lane }) => lane === 'steps').map(({ name }) => name)).toEqual([
    'step 0',
    'step 1',
  ]);
  expect(spans.all).toHaveLength(8);
  expect(spans.end).toBe(20);
});

it('a trace whose first step has too many operators has no step', () => {
  const spans = new Spans(true, 1);
  spans.add('operators', 'a', [1, 2]);
  spans.add('operators', 'b', [2, 3]);
  spans.add('steps', 'step 0', [0, 10]);
  expect([spans.all, spans.end]).toEqual([[], -Infinity]);
});

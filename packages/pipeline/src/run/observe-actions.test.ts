import { afterEach, expect, it } from 'vitest';
import { scheduleOf } from '@acc/planner/schedules';
import { observeActions, runObserved, type ObservedAction } from './observe-actions.js';

afterEach(() => observeActions(undefined));

const [row] = scheduleOf('1f1b', { ranks: 2, chunks: 1, microBatches: 3 }).rows;

it('tells when each action ran and how much of it was waiting, in order', () => {
  const steps: (readonly ObservedAction[])[] = [];
  observeActions((actions) => steps.push(actions));
  const times = { waitedMs: 0, lastSent: -Infinity };
  const taken: unknown[] = [];
  for (let step = 0; step < 2; step++) {
    runObserved(
      row!,
      (action) => {
        taken.push(action);
        times.waitedMs += action.kind === 'backward' ? 5 : 0;
        if (action.kind === 'forward') times.lastSent = performance.now();
      },
      () => times,
    );
  }
  expect(taken).toEqual([...row!, ...row!]);
  expect(steps).toHaveLength(2);
  for (const actions of steps) {
    expect(actions.map(({ kind, stage, microBatch }) => ({ kind, stage, microBatch }))).toEqual(row);
    expect(actions.map((action) => action.waited)).toEqual(
      row!.map(({ kind }) => (kind === 'backward' ? 5 : 0)),
    );
    expect(actions.map(({ sent }) => sent !== undefined)).toEqual(row!.map(({ kind }) => kind === 'forward'));
    const inOrder = actions.flatMap(({ start, end, sent }) => [start, sent ?? start, end]);
    expect(inOrder).toEqual([...inOrder].sort((a, b) => a - b));
  }
});

it('runs the actions alone without an observer', () => {
  const taken: unknown[] = [];
  runObserved(
    row!,
    (action) => taken.push(action),
    () => {
      throw new Error('not asked');
    },
  );
  expect(taken).toEqual(row);
});

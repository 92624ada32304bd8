import { expect, it } from 'vitest';
import { ReplayTimes } from './replay-times.js';

it('is the mean of the first replays, and then forgets old ones', () => {
  const times = new ReplayTimes();
  for (const ms of [10, 20, 60]) times.add(ms, ms / 10);
  expect([times.replays, times.replayMs, times.actionsMs]).toEqual([3, 30, 3]);
  for (let i = 0; i < 1000; i++) times.add(5, 1);
  expect(times.replayMs).toBeCloseTo(5);
  expect(times.actionsMs).toBeCloseTo(1);
});

import { expect, it } from 'vitest';
import { ReplayTimes } from './replay-times.js';

it('is the mean of the first replays, and then forgets old ones', () => {
  const times = new ReplayTimes();
  for (const ms of [10, 20, 60]) times.add(ms, new Map([['sum', ms / 10]]));
  expect([times.replays, times.replayMs, times.actionsMs.get('sum')]).toEqual([3, 30, 3]);
  for (let i = 0; i < 1000; i++) times.add(5, new Map([['sum', 1]]));
  expect(times.replayMs).toBeCloseTo(5);
  expect(times.actionsMs.get('sum')).toBeCloseTo(1);
});

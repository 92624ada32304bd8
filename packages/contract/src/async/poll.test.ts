import { expect, it } from 'vitest';
import { poll } from './poll.js';

it('asks until there is a result', async () => {
  let asked = 0;
  expect(await poll(() => (++asked === 4 ? 'it' : undefined))).toBe('it');
  expect(asked).toBe(4);
  expect(await poll(() => Promise.resolve(false))).toBe(false);
});

it('asks once more when the time is over', async () => {
  let asked = 0;
  expect(await poll(() => void asked++, { timeoutMs: 0 })).toBeUndefined();
  expect(asked).toBe(1);
  const start = performance.now();
  let lastAskedMs = 0;
  await poll(() => void (lastAskedMs = performance.now() - start), { timeoutMs: 20, longestPauseMs: 1_000 });
  expect(lastAskedMs).toBeGreaterThanOrEqual(20);
});

it('asks once more on the signal, without waiting for the pause', async () => {
  const controller = new AbortController();
  let asked = 0;
  const ask = () => {
    if (++asked === 2) controller.abort();
    return undefined;
  };
  expect(await poll(ask, { signal: controller.signal })).toBeUndefined();
  expect(asked).toBe(3);
});

it('throws the error of the callback', async () => {
  const asking = poll(() => {
    throw new RangeError('no');
  });
  await expect(asking).rejects.toThrowError(RangeError);
});

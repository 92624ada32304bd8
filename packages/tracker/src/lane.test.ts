import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { AccError } from '@acc/contract';
import { startBus } from './testing/bus.js';
import { Service, trackerOf } from './testing/service.js';

it('makes no call after its end, also if one was under way, whose entries the next run sends', async () => {
  let calls = 0;
  const tracker = {
    ...trackerOf(new Service()),
    // The first call fails, and the second one is under way until the end aborts it.
    logBatch: (_rows: unknown, { signal }: { readonly signal: AbortSignal }) => {
      const down = new AccError('ACC_TRACKER_UNAVAILABLE', 'the service is down.');
      if (++calls === 1) return Promise.reject(down);
      return new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(down)));
    },
  };
  const { bus } = await startBus([{ tracker }]);
  for (let x = 0; x < 10; x++) bus.log({ x });
  await bus.finish('aborted');
  expect(calls).toBe(2);
  // Longer than the time to the next retry.
  await sleep(200);
  expect(calls).toBe(2);
});

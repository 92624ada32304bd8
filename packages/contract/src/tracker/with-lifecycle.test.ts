import { expect, it } from 'vitest';
import type { RunInfo, Stamp, Tracker } from './tracker.js';
import { withLifecycle } from './with-lifecycle.js';

const run = {} as RunInfo;
const stamp = {} as Stamp;
const coded = (code: string) => expect.objectContaining({ code }) as Error;

function newTracker(start = () => Promise.resolve()): Tracker & { seen: string[] } {
  const seen: string[] = [];
  return {
    name: 'x',
    seen,
    get runId() {
      return seen.length === 0 ? undefined : 'id';
    },
    start,
    log: (step) => void seen.push(`log ${step}`),
    finish: () => Promise.resolve(),
  };
}

it('enforces the order start, log, finish', async () => {
  const tracker = withLifecycle(newTracker());
  expect(() => tracker.log(0, {}, stamp)).toThrow(coded('ACC_TRACKER_NOT_STARTED'));
  await expect(tracker.finish('completed')).rejects.toThrow(coded('ACC_TRACKER_NOT_STARTED'));
  await tracker.start(run);
  await expect(tracker.start(run)).rejects.toThrow(coded('ACC_TRACKER_STARTED'));
  expect(tracker.runId).toBeUndefined();
  await tracker.log(1, {}, stamp);
  expect([tracker.seen, tracker.runId, tracker.name]).toEqual([['log 1'], 'id', 'x']);
  await tracker.finish('failed');
  expect(() => tracker.log(2, {}, stamp)).toThrow(coded('ACC_TRACKER_FINISHED'));
  await expect(tracker.start(run)).rejects.toThrow(coded('ACC_TRACKER_FINISHED'));
});

it('allows start again after it failed, and adds no member', async () => {
  let tries = 0;
  const tracker = withLifecycle(
    newTracker(() => (tries++ === 0 ? Promise.reject(new Error('no')) : Promise.resolve())),
  );
  await expect(tracker.start(run)).rejects.toThrow('no');
  await tracker.start(run);
  expect([tracker.logText, tracker.resume]).toEqual([undefined, undefined]);
});

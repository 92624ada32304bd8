import { AccError } from '../errors/errors.js';
import type { Tracker } from './tracker.js';

const GUARDED = [
  'log',
  'logBatch',
  'logConfig',
  'logText',
  'logImage',
  'logHistogram',
  'logTable',
  'logArtifact',
  'logModel',
] as const;

type State = 'new' | 'running' | 'finished';

/**
 * Wraps a tracker and enforces the order of calls. Calls before `start` or after `finish`, and a
 * second `start`, are rejected. `start` may be repeated after it failed.
 *
 * @throws AccError from the methods: `ACC_TRACKER_NOT_STARTED`, `ACC_TRACKER_FINISHED`,
 * `ACC_TRACKER_STARTED`.
 */
export function withLifecycle<T extends Tracker>(tracker: T): T {
  let state: State = 'new';
  const begin =
    <A extends unknown[]>(start: (...args: A) => Promise<void>) =>
    async (...args: A): Promise<void> => {
      if (state === 'finished') throw finished(tracker, 'start');
      if (state === 'running') throw startedTwice(tracker);
      await start.apply(tracker, args);
      state = 'running';
    };
  const requireRunning = (method: string): void => {
    if (state === 'new') throw notStarted(tracker, method);
    if (state === 'finished') throw finished(tracker, method);
  };
  // Keeps getters as getters: the id of a run is not known before its start.
  const guarded = Object.create(tracker) as Record<string, unknown>;
  const define = (name: string, value: unknown) =>
    Object.defineProperty(guarded, name, { value, enumerable: true });
  define('start', begin(tracker.start));
  if (tracker.resume) define('resume', begin(tracker.resume));
  for (const name of GUARDED) {
    const method = tracker[name] as ((...args: unknown[]) => unknown) | undefined;
    if (!method) continue;
    define(name, (...args: unknown[]) => {
      requireRunning(name);
      return method.apply(tracker, args);
    });
  }
  define('finish', async (status: Parameters<Tracker['finish']>[0]) => {
    requireRunning('finish');
    // `finish` may be repeated after an error, but not after it succeeded.
    await tracker.finish(status);
    state = 'finished';
  });
  return guarded as unknown as T;
}

function notStarted({ name }: Tracker, method: string): AccError {
  return new AccError('ACC_TRACKER_NOT_STARTED', `${name}: ${method}() was called before start().`, {
    help: 'Await start(run), or pass the tracker to Accelerator.create({ logWith }) and call initTrackers().',
  });
}

function finished({ name }: Tracker, method: string): AccError {
  return new AccError('ACC_TRACKER_FINISHED', `${name}: ${method}() was called after finish().`, {
    help: 'Create a new tracker for another run.',
  });
}

function startedTwice({ name }: Tracker): AccError {
  return new AccError('ACC_TRACKER_STARTED', `${name}: start() was called twice.`, {
    help: 'Create one tracker for each run.',
  });
}

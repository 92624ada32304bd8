import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { endOfPress } from '@acc/platform/ending';
import { Interruption, isStartedByNpx } from './interruption.js';
import { RankProcess, type RankCommand } from './rank-process.js';
import { runJob } from './run-job.js';

describe('the launcher below npx', () => {
  const parent = Object.getOwnPropertyDescriptor(process, 'ppid')!;
  const repeated = vi.fn();
  let interruption: Interruption;
  beforeEach(() => {
    repeated.mockClear();
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    interruption = new Interruption(repeated, () => undefined, true);
  });
  afterEach(() => {
    interruption.dispose();
    vi.useRealTimers();
    Object.defineProperty(process, 'ppid', parent);
  });

  const endParent = (): void => {
    Object.defineProperty(process, 'ppid', { configurable: true, get: () => 1 });
    vi.advanceTimersByTime(5_000);
  };

  it('ends like after SIGTERM if npx was killed', async () => {
    vi.advanceTimersByTime(5_000);
    endParent();
    expect(await interruption.first).toBe('SIGTERM');
    expect(repeated).not.toHaveBeenCalled();
  });

  it('does not take the end of npx after a signal for a second signal', async () => {
    process.emit('SIGHUP', 'SIGHUP');
    await endOfPress();
    endParent();
    expect(repeated).not.toHaveBeenCalled();
    process.emit('SIGHUP', 'SIGHUP');
    expect(repeated).toHaveBeenCalledOnce();
    expect(await interruption.first).toBe('SIGHUP');
  });
});

it.each([
  ['npx', 'acc', true],
  ['npx', "'acc' 'launch' '-n' '2'", true],
  ['npx', 'acc launch train.mjs', true],
  ['npx', 'tsx', false],
  ['npx', 'accord', false],
  ['npx', undefined, false],
  ['start', 'acc launch train.mjs', false],
])('npx is known by its own command: %s, %s', (event, script, isOwn) =>
  expect(isStartedByNpx({ npm_lifecycle_event: event, npm_lifecycle_script: script })).toBe(isOwn),
);

it('a signal ends the ranks that have started, and no further one starts', async () => {
  const start = vi.spyOn(RankProcess, 'start');
  const commands = [0, 1, 2].map((rank): RankCommand => {
    const command = ['sleep', '600'] as const;
    const output = { isForeground: false, isShown: false, logs: undefined };
    return { rank, command, env: process.env, variables: {}, cpus: undefined, ...output };
  });
  const job = { script: 'sleep', worldSize: 3, graceMs: 600_000, prefix: false };
  const ended = runJob({ commands, ...job, isSilent: true });
  process.emit('SIGHUP', 'SIGHUP');
  expect(await ended).toMatchObject({ exitCode: 129, mayRestart: false });
  const started = await Promise.all(start.mock.results.map(({ value }) => value as Promise<RankProcess>));
  start.mockRestore();
  expect(started.map(({ rank, isRunning }) => [rank, isRunning])).toEqual([[0, false]]);
});

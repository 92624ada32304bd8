import { beforeEach, describe, expect, it } from 'vitest';
import { endGroup, type GroupSystem } from './process-group.js';

/** The group of these tests. No process has this number. */
const GROUP = 2 ** 30;

/** The receivers and signals of all calls, without questions (signal 0). */
let sent: [number, string | number | undefined][];
beforeEach(() => {
  sent = [];
});

const failure = (code: string) => Object.assign(new Error(code), { code });

/**
 * A system without /proc, whose group has ended after these signals.
 *
 * @param ended How `kill` fails then.
 */
function systemOf(endedBy: readonly string[], ended: string, platform: NodeJS.Platform): GroupSystem {
  let isRunning = true;
  return {
    platform,
    kill: (receiver, signal) => {
      if (!isRunning) throw failure(ended);
      if (signal !== 0) sent.push([receiver, signal]);
      if (endedBy.includes(String(signal))) isRunning = false;
      return true;
    },
  };
}

const never = new AbortController().signal;
const end = (system: GroupSystem, graceMs: number, isToLeader = false) =>
  endGroup(GROUP, { signal: 'SIGTERM', graceMs, isToLeader }, never, system);

describe.each(['darwin', 'freebsd'] as const)('on %s, which has no /proc', (platform) => {
  it.each(['ESRCH', 'EPERM'])('a group that the signal ends gets no other (%s)', async (ended) => {
    await end(systemOf(['SIGTERM'], ended, platform), 60_000);
    expect(sent).toEqual([[-GROUP, 'SIGTERM']]);
  });

  it('a group that goes on is killed after the grace period', async () => {
    await end(systemOf(['SIGKILL'], 'ESRCH', platform), 1);
    expect(sent).toEqual([
      [-GROUP, 'SIGTERM'],
      [-GROUP, 'SIGKILL'],
    ]);
  });

  it('the first process alone gets the signal, and the whole group the end', async () => {
    await end(systemOf(['SIGKILL'], 'ESRCH', platform), 1, true);
    expect(sent).toEqual([
      [GROUP, 'SIGTERM'],
      [-GROUP, 'SIGKILL'],
    ]);
  });
});

it('on Linux, a group of which /proc shows no process that runs has ended', async () => {
  // Signals reach zombies, so `kill` never fails.
  await end(systemOf([], 'ESRCH', 'linux'), 60_000);
  expect(sent).toEqual([
    [-GROUP, 'SIGTERM'],
    [-GROUP, 'SIGKILL'],
  ]);
});

it('another error of the system is not hidden', async () => {
  const kill = (): never => {
    throw failure('EINVAL');
  };
  await expect(end({ platform: 'darwin', kill }, 1)).rejects.toMatchObject({ code: 'EINVAL' });
});

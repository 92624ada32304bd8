import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { asDeferring, isHandled } from '@acc/platform/ending';
import { Rescuing, type RescuingContext } from './rescuing.js';

afterEach(() => void vi.restoreAllMocks());

it.each([
  ['end', false],
  ['rescue', true],
] as const)('leaves SIGTERM to the end of a tracker’s run, unless it keeps the state: %s', (why, keeps) => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-rescuing-'));
  const exit = vi
    .spyOn(process, 'exit')
    .mockImplementation((() => undefined) as unknown as typeof process.exit);
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
  // As the listener of trackers does.
  let sawHandled: boolean | undefined;
  const tracker = asDeferring(() => void (sawHandled = isHandled('SIGTERM')));
  process.on('SIGTERM', tracker);
  const rescuing = new Rescuing({
    place: { folder },
    run: {
      collective: { rank: 1 },
      kernels: { device: 'cuda' },
      strategy: { traits: { parameters: 'replicated' } },
      trainingStep: { updates: { steps: 0 } },
    },
  } as unknown as RescuingContext);
  onTestFinished(() => {
    rescuing.dispose();
    process.off('SIGTERM', tracker);
    rmSync(folder, { recursive: true });
  });
  writeFileSync(join(folder, `ending-${why}`), '');
  process.emit('SIGTERM', 'SIGTERM');
  expect({ sawHandled, exits: exit.mock.calls, kills: kill.mock.calls }).toEqual({
    sawHandled: keeps,
    exits: keeps ? [[143]] : [],
    kills: keeps ? [] : [[process.pid, 'SIGTERM']],
  });
});

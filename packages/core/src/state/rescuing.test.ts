import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { asDeferring, isHandled } from '@acc/platform/ending';
import { Rescuing, type RescuingContext } from './rescuing.js';

afterEach(() => void vi.restoreAllMocks());

function createRescuing() {
  const folder = mkdtempSync(join(tmpdir(), 'acc-rescuing-'));
  const exit = vi
    .spyOn(process, 'exit')
    .mockImplementation((() => undefined) as unknown as typeof process.exit);
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
  const barrier = vi.fn();
  const updates: Partial<RescuingContext['run']['trainingStep']['updates']> = { steps: 0 };
  // As the listener of trackers does.
  const seen: boolean[] = [];
  const tracker = asDeferring(() => void seen.push(isHandled('SIGTERM')));
  process.on('SIGTERM', tracker);
  const rescuing = new Rescuing({
    place: { folder },
    joinable: { isJoining: false },
    run: {
      collective: { rank: 1, barrier },
      kernels: { device: 'cuda' },
      strategy: { traits: { parameters: 'sharded' } },
      trainingStep: { updates },
    },
  } as unknown as RescuingContext);
  onTestFinished(() => {
    rescuing.dispose();
    process.off('SIGTERM', tracker);
    rmSync(folder, { recursive: true });
  });
  return { folder, updates, barrier, seen, exit, kill };
}

it.each([
  ['end', false],
  ['rescue', true],
] as const)('leaves SIGTERM to the end of a tracker’s run, unless it keeps the state: %s', (why, keeps) => {
  const { folder, seen, exit, kill } = createRescuing();
  writeFileSync(join(folder, `ending-${why}`), '');
  process.emit('SIGTERM', 'SIGTERM');
  expect({ seen, exits: exit.mock.calls, kills: kill.mock.calls }).toEqual({
    seen: [keeps],
    exits: keeps ? [[143]] : [],
    kills: keeps ? [] : [[process.pid, 'SIGTERM']],
  });
});

it('votes with the other ranks while trackers finish after SIGTERM, and asks for no more time', () => {
  const { folder, updates, barrier, kill } = createRescuing();
  const sign = join(folder, `holds-${process.pid}`);
  writeFileSync(sign, '');
  process.emit('SIGTERM', 'SIGTERM');
  updates.observer?.beforeUpdate();
  expect(barrier).toHaveBeenCalledOnce();
  expect(existsSync(sign)).toBe(false);
  // The listener is gone, so the signal that it sends does not reach it.
  process.emit('SIGTERM', 'SIGTERM');
  expect(kill).toHaveBeenCalledOnce();
});

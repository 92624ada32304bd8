import { afterEach, beforeEach, expect, it, vi, type MockInstance } from 'vitest';
import { asDeferring, endBySignal } from '@acc/platform/ending';
import { onExit } from 'signal-exit';
import { ProcessEnding } from './process-ending.js';

const SIGNAL = 'SIGHUP';
const finish = vi.fn<() => Promise<void>>();
let kill: MockInstance<typeof process.kill>;
let ending: ProcessEnding;
const undo: (() => void)[] = [];

beforeEach(() => {
  finish.mockReset().mockReturnValue(new Promise(() => undefined));
  kill = vi.spyOn(process, 'kill').mockReturnValue(true);
});
afterEach(() => {
  ending.dispose();
  for (const one of undo.splice(0)) one();
  vi.restoreAllMocks();
});

const start = () => (ending = new ProcessEnding({ finish, finishNow: () => undefined }));
const send = () => process.emit(SIGNAL, SIGNAL);

it('ends the process by the number of the signal on Windows, which cannot send one', () => {
  const exit = vi.spyOn(process, 'exit').mockReturnValue(undefined as never);
  start();
  endBySignal(SIGNAL, 'win32');
  expect(exit).toHaveBeenCalledWith(129);
  expect(kill).not.toHaveBeenCalled();
  endBySignal(SIGNAL, 'darwin');
  expect(kill).toHaveBeenCalledWith(process.pid, SIGNAL);
});

it('leaves a signal to a listener of the program, also to one that Node.js removes before it is called', () => {
  const handle = vi.fn();
  process.once(SIGNAL, handle);
  start();
  send();
  expect(handle).toHaveBeenCalledOnce();
  expect(finish).not.toHaveBeenCalled();
});

it('finishes the runs if every other listener leaves the signal to others', () => {
  // Of another copy of this package.
  const other = asDeferring(() => undefined);
  process.on(SIGNAL, other);
  undo.push(
    () => process.off(SIGNAL, other),
    onExit(() => undefined),
  );
  start();
  send();
  expect(finish).toHaveBeenCalledOnce();
});

it('takes a copy of the signal that comes late, after a blocked event loop, as the same key press', async () => {
  start();
  send();
  const end = performance.now() + 400;
  while (performance.now() < end);
  send();
  expect(kill).not.toHaveBeenCalled();
  await vi.waitFor(
    () => {
      send();
      expect(kill).toHaveBeenCalledWith(process.pid, SIGNAL);
    },
    { timeout: 240_000 },
  );
  expect(finish).toHaveBeenCalledOnce();
});

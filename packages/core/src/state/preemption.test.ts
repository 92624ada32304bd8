import { afterEach, beforeEach, expect, it, vi, type MockInstance } from 'vitest';
import type { Collective } from '@acc/contract';
import { Preemption } from './preemption.js';

let exit: MockInstance<typeof process.exit>;
const errors: string[] = [];
let others: number;
let preemption: Preemption;
let clockMs: number;
let activity: number;
let path: string | undefined;
let saves: number;

beforeEach(() => {
  exit = vi.spyOn(process, 'exit').mockImplementation((() => undefined) as typeof process.exit);
  vi.spyOn(console, 'error').mockImplementation((line: string) => void errors.push(line));
  [clockMs, activity, path, saves] = [0, 0, '/runs/1', 0];
  vi.spyOn(performance, 'now').mockImplementation(() => clockMs);
  errors.length = 0;
  others = process.listenerCount('SIGINT');
  preemption = new Preemption({
    collective: { size: 1, rank: 0, barrier() {} } as unknown as Collective,
    isJoining: () => false,
    activity: () => activity,
    save: () => Promise.resolve((saves++, path)),
    beforeExit: () => Promise.resolve(),
  });
});
afterEach(() => {
  preemption.dispose();
  vi.restoreAllMocks();
});

/** The number of listeners that take Ctrl-C. */
const hearing = () => process.listenerCount('SIGINT') - others;
const press = () => process.kill(process.pid, 'SIGINT');

/** A step that blocks the event loop for some time. */
function step(ms = 1): void {
  clockMs += ms;
  activity++;
  preemption.beat();
}

/** A step and the boundary after it. */
async function train(): Promise<void> {
  step();
  await preemption.atBoundary();
}

it('saves after Ctrl-C in a step that blocks the event loop for long', async () => {
  await train();
  press();
  step(5_000);
  await preemption.atBoundary();
  expect({ saves, codes: exit.mock.calls }).toEqual({ saves: 1, codes: [[75]] });
});

it('leaves Ctrl-C to Node.js after many blocking steps without a boundary, until the next one', async () => {
  await train();
  expect(hearing()).toBe(1);
  for (let i = 0; i < 20; i++) step(1_000);
  expect(hearing()).toBe(0);
  await preemption.atBoundary();
  expect(hearing()).toBe(1);
});

it('leaves Ctrl-C to Node.js after the end of the data and in an evaluation', async () => {
  await preemption.atBoundary();
  expect(hearing()).toBe(0);
  await train();
  step();
  await preemption.atBoundary(true);
  expect(hearing()).toBe(0);
  // The next epoch, whose first boundary comes before a step.
  await preemption.atBoundary();
  expect(hearing()).toBe(1);
  await train();
  expect(hearing()).toBe(1);
  await preemption.atBoundary();
  await preemption.atBoundary();
  expect(hearing()).toBe(0);
});

it('saves at the end of the data after Ctrl-C in the last step', async () => {
  await train();
  press();
  step();
  await preemption.atBoundary(true);
  expect(saves).toBe(1);
});

it('takes a copy of Ctrl-C that comes late, after a blocking save, as the same press', async () => {
  await train();
  process.emit('SIGINT', 'SIGINT');
  clockMs += 5_000;
  // The timer of the press is due, and the event loop has not turned since.
  process.emit('SIGINT', 'SIGINT');
  expect(exit).not.toHaveBeenCalled();
  await vi.waitFor(
    () => {
      process.emit('SIGINT', 'SIGINT');
      expect(exit).toHaveBeenCalledWith(130);
    },
    { timeout: 240_000 },
  );
});

it.each([
  [
    '/runs/1',
    "acc: the checkpoint was saved to /runs/1. To continue, run the same command again: the program resumes there if it calls loadState('latest', { ifPresent: true }). Exit code 75.",
  ],
  [undefined, 'acc: the checkpoint could not be saved. Exit code 75.'],
])('tells how to continue from %s', async (saved, text) => {
  path = saved;
  await train();
  process.emit('SIGINT', 'SIGINT');
  await train();
  expect(errors.at(-1)).toBe(text);
});

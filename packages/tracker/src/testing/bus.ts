import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { poll, type RunConfig } from '@acc/contract';
import type { TrackerLimits } from '../limits.js';
import type { RecordedTracker } from '../recorded-tracker.js';
import { identifyRun, type RunOptions } from '../run-identity.js';
import { TrackerBus } from '../tracker-bus.js';

/** Short times for tests. */
const LIMITS: Partial<TrackerLimits> = {
  batchMs: 20,
  callMs: 10_000,
  startMs: 5_000,
  retryMinMs: 10,
  retryMaxMs: 40,
  endDownMs: 400,
  interruptedMs: 500,
};

export function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'acc-tracker-'));
}

export interface StartOptions {
  readonly projectDir?: string;
  readonly limits?: Partial<TrackerLimits>;
  readonly config?: RunConfig;
  readonly run?: RunOptions;
  readonly rank?: number;
}

/** Starts a bus with a run, and collects its warnings. */
export async function startBus(trackers: readonly RecordedTracker[], options: StartOptions = {}) {
  const { projectDir = newFolder(), limits, config = {}, run = {}, rank = 0 } = options;
  const said: string[] = [];
  const warn = (message: string) => void said.push(message);
  const bus = new TrackerBus({ rank, size: rank + 1, warn, limits: { ...LIMITS, ...limits } });
  const identity = identifyRun('test', run, { projectDir, loaded: undefined });
  await bus.start({ identity, config, projectDir, trackers });
  return { bus, said, projectDir, runDir: bus.run!.dir };
}

/** Waits until a condition holds. The time limit of the test ends the wait. */
export async function until(isSo: () => boolean): Promise<void> {
  await poll(() => isSo() || undefined);
}

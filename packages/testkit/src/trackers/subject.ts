import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunInfo, RunStatus, Stamp, Tracker } from '@acc/contract';

/** One number that the back end holds. */
export interface TrackedValue {
  readonly name: string;
  readonly step: number;
  readonly value: number;
}

/** What the back end holds of one run. */
export interface TrackedRun {
  /** In the order in which they were stored, name by name or row by row. */
  readonly values: readonly TrackedValue[];
  /** Undefined where it keeps none, or the run goes on. */
  readonly status?: RunStatus | undefined;
}

/** A tracker as the cases see it, with the way back from where it stores. */
export interface TrackerSubject {
  /** Calls the package's factory, with the options that lead to the tests' back end. */
  make(): Tracker;
  /** Calls it with options as a user might write them. */
  makeWith(options: object): Tracker;
  /** What the back end holds of a run; nothing of one that it doesn't know. `runId` is what the tracker called it. */
  read(run: RunInfo, runId: string): TrackedRun | Promise<TrackedRun>;
  /** Whether the back end keeps every value, as a file does, or the last of each name. Default `every`. */
  readonly keeps?: 'every' | 'latest';
  /** Whether it keeps how a run ended. Default true. */
  readonly keepsStatus?: boolean;
  /** Makes the back end unreachable, and gives what ends that. Absent where there is nothing to be reached. */
  interrupt?(): Promise<() => Promise<void>>;
}

/** One rule that every tracker keeps. */
export interface TrackerCase {
  readonly name: string;
  /** Whether the rule says anything about this tracker. Default true. */
  appliesTo?(subject: TrackerSubject): boolean;
  run(subject: TrackerSubject): Promise<void>;
}

let runs = 0;

/** Runs `body` with a run of its own, whose folder is removed afterwards. */
export async function withRun<T>(body: (run: RunInfo) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(tmpdir(), 'acc-tracker-case-'));
  const id = `case-${process.pid}-${Date.now()}-${runs++}`;
  const run: RunInfo = {
    project: 'conformance',
    id,
    name: `run ${id}`,
    tags: { kind: 'conformance' },
    dir,
    startTimeMs: Date.now(),
    rank: 0,
    size: 1,
  };
  try {
    return await body(run);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Calls as the bus makes them, with numbers that go up. */
export class Caller {
  #sequence: number;

  /** @param sequence Where an earlier process has logged, beyond what it had. */
  constructor(
    readonly tracker: Tracker,
    sequence = 0,
  ) {
    this.#sequence = sequence;
  }

  stamp(): Stamp {
    return { sequence: this.#sequence++, timeMs: Date.now(), signal: new AbortController().signal };
  }

  async log(step: number, metrics: Readonly<Record<string, number>>): Promise<void> {
    await this.tracker.log(step, metrics, this.stamp());
  }

  /** Rows by `logBatch` where there is one, by `log` else: as the bus does. */
  async logAll(rows: readonly { step: number; metrics: Readonly<Record<string, number>> }[]): Promise<void> {
    if (!this.tracker.logBatch) {
      for (const { step, metrics } of rows) await this.log(step, metrics);
      return;
    }
    const stamped = rows.map((row) => {
      const { sequence, timeMs } = this.stamp();
      return { ...row, sequence, timeMs };
    });
    const { signal } = new AbortController();
    for (let i = 0; i < stamped.length; i += 500) {
      const batch = stamped.slice(i, i + 500);
      await this.tracker.logBatch(batch, { sequence: batch[0]!.sequence, timeMs: batch[0]!.timeMs, signal });
    }
  }
}

/** What the back end holds of the run of a tracker. */
export async function readRun(
  subject: TrackerSubject,
  run: RunInfo,
  { runId }: Tracker,
): Promise<TrackedRun> {
  return subject.read(run, runId ?? run.id);
}

/** Fails the case. */
export function require(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new Error(otherwise);
}

/** The values of one name must be these, in order; of a back end that keeps the latest, the last of them. */
export function requireValues(
  subject: TrackerSubject,
  { values }: TrackedRun,
  name: string,
  expected: readonly (readonly [step: number, value: number])[],
): void {
  const found = values
    .filter((value) => value.name === name)
    .map(({ step, value }) => [step, value] as const);
  const wanted = subject.keeps === 'latest' ? expected.slice(-1) : expected;
  const show = (pairs: readonly (readonly [number, number])[]) =>
    pairs.length > 6
      ? `${pairs.length} values, from ${String(pairs[0])} to ${String(pairs.at(-1))}`
      : JSON.stringify(pairs);
  const isSame =
    found.length === wanted.length &&
    wanted.every(([step, value], i) => step === found[i]![0] && Object.is(value, found[i]![1]));
  require(isSame, `'${name}': expected [step, value] ${show(wanted)}, the back end has ${show(found)}`);
}

/** The code of what `act` throws; undefined when it throws nothing, '' for an error without a code. */
export async function codeOf(act: () => unknown): Promise<string | undefined> {
  try {
    await act();
    return undefined;
  } catch (error) {
    return String((error as { code?: unknown }).code ?? '');
  }
}

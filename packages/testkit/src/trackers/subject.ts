import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunInfo, RunStatus, Stamp, Tracker } from '@acc/contract';

/** One number in the back end. */
export interface TrackedValue {
  readonly name: string;
  readonly step: number;
  readonly value: number;
}

/** The data of one run in the back end. */
export interface TrackedRun {
  /** In the order in which they were stored, by name or by row. */
  readonly values: readonly TrackedValue[];
  /** Undefined if the back end has no status, or if the run is not finished. */
  readonly status?: RunStatus | undefined;
}

/** A tracker under test, with access to the data that it stored. */
export interface TrackerSubject {
  /** Calls the package's factory with the options for the tests' back end. */
  make(): Tracker;
  /** Calls the factory with options as a user might write them. */
  makeWith(options: object): Tracker;
  /**
   * The data of a run in the back end, empty for an unknown run. `runId` is the id that the tracker
   * gave the run.
   */
  read(run: RunInfo, runId: string): TrackedRun | Promise<TrackedRun>;
  /**
   * Whether the back end keeps every value, like a file, or the last one of each name. Default
   * `every`.
   */
  readonly keeps?: 'every' | 'latest';
  /** Whether it stores how a run ended. Default true. */
  readonly keepsStatus?: boolean;
  /**
   * Makes the back end unreachable. Resolves with a function that ends this. Absent if the tracker
   * needs no connection.
   */
  interrupt?(): Promise<() => Promise<void>>;
}

/** A rule for every tracker. */
export interface TrackerCase {
  readonly name: string;
  /** Whether the rule applies to this tracker. Default true. */
  appliesTo?(subject: TrackerSubject): boolean;
  run(subject: TrackerSubject): Promise<void>;
}

let runs = 0;

/** Runs `body` with a new run, and then removes its folder. */
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

/** Makes calls like the bus, with ascending sequence numbers. */
export class Caller {
  #sequence: number;

  /**
   * @param sequence The first sequence number. After an earlier process has logged, it must be
   * above the numbers of that process.
   */
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

  /** Logs rows with `logBatch` if the tracker has it, otherwise with `log`, like the bus. */
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

/** The data of a tracker's run in the back end. */
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

/**
 * Checks the values of one name, in order. For a back end that keeps the latest value, only the
 * last one.
 */
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

/**
 * The code of the error that `act` throws. Undefined if it does not throw, '' for an error without
 * a code.
 */
export async function codeOf(act: () => unknown): Promise<string | undefined> {
  try {
    await act();
    return undefined;
  } catch (error) {
    return String((error as { code?: unknown }).code ?? '');
  }
}

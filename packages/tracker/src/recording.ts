import { ProcessEnding } from '#platform/process';
import { AccError, type RunInfo, type RunStatus, type TrackedModel, type Tracker } from '@acc/contract';
import { files, hostName, processId, unref } from '@acc/platform';
import { methodFor } from './calls.js';
import type { Entry, Payload } from './entry.js';
import { sendKept } from './kept-runs.js';
import type { RecordedTracker } from './recorded-tracker.js';
import { Lane } from './lane.js';
import type { TrackerLimits } from './limits.js';
import { EntryQueue } from './queue/entry-queue.js';
import { Reporter } from './reporter.js';
import { keepRecord, readRecord, recordPath, spoolPath, writeRecord, type RunRecord } from './run-record.js';

export interface RecordingOptions {
  readonly run: RunInfo;
  readonly projectDir: string;
  /** The trackers of this rank. */
  readonly trackers: readonly RecordedTracker[];
  /** The ids that trackers gave the run in an earlier process, if the run is resumed. */
  readonly earlier: Readonly<Record<string, string>> | undefined;
  readonly limits: TrackerLimits;
  readonly warn: (message: string) => void;
}

/** Records one run on one rank, from the start of its trackers to their end. */
export class Recording {
  readonly #given: RecordingOptions;
  readonly #lanes: readonly Lane[];
  /** Lanes for earlier runs that ended before everything was sent. */
  readonly #keptLanes: readonly Lane[];
  readonly #takers = new Map<Entry['kind'], readonly Lane[]>();
  readonly #pulse: ReturnType<typeof setInterval>;
  readonly #ending: ProcessEnding;
  #sequence: number;
  #finishing: Promise<void> | undefined;
  #deadlineMs = Infinity;
  #isClosed = false;
  #hasToldNoRegistry = false;

  constructor(options: RecordingOptions) {
    this.#given = options;
    const { run, projectDir, trackers, earlier, limits, warn } = options;
    inProjectDir('The folder of the run cannot be created', () => files.makeFolder(run.dir));
    // Starts above the sequence numbers of earlier processes of this run. No process logs more than
    // one entry per microsecond.
    this.#sequence = earlier ? Math.max(0, Date.now() - run.startTimeMs) * 1_000 : 0;
    const ids = run.rank === 0 ? earlier : readRecord(recordPath(run.dir, run.rank)).record?.trackers;
    this.#lanes = trackers.map(({ tracker }) => {
      const resumedId = earlier && ids?.[tracker.name];
      if (resumedId !== undefined && !tracker.resume) throw cannotResume(tracker, run);
      const path = spoolPath(run.dir, tracker.name, run.rank);
      const onStarted = () => this.#write('running');
      const reporter = new Reporter(tracker.name, warn);
      const queue = new EntryQueue(path, limits);
      return new Lane({ tracker, run, resumedId, queue, limits, reporter, onStarted });
    });
    inProjectDir("The run's record cannot be written", () =>
      writeRecord(this.#path, this.#record('running')),
    );
    this.#keptLanes = sendKept({ projectDir, rank: run.rank, exceptDir: run.dir, trackers, limits, warn });
    this.#ending = new ProcessEnding({
      finish: (status) => this.#interrupted(status),
      finishNow: (status) => this.#exiting(status),
    });
    this.#pulse = setInterval(() => this.#advance(), limits.batchMs / 2);
    unref(this.#pulse);
  }

  get trackers(): readonly Tracker[] {
    return this.#lanes.map(({ tracker }) => tracker);
  }

  /** The id that each started tracker gave the run. */
  get trackerIds(): Record<string, string> {
    const started = this.#lanes.filter(({ hasStarted }) => hasStarted);
    return Object.fromEntries(
      started.map(({ tracker }) => [tracker.name, tracker.runId ?? this.#given.run.id]),
    );
  }

  /**
   * Resolves when all trackers have started, or after `startMs`. Trackers that have not started
   * keep trying.
   *
   * @throws AccError `ACC_TRACKER_START` if a tracker cannot start.
   */
  async started(): Promise<void> {
    const deadlineMs = performance.now() + this.#given.limits.startMs;
    const waiting = this.#lanes.map((lane) => lane.started(deadlineMs));
    this.#advance();
    await Promise.all(waiting);
    const broken = this.#lanes.find(({ brokenBy }) => brokenBy !== undefined);
    if (!broken) return;
    await this.#interrupted('failed');
    throw cannotStart(broken);
  }

  /**
   * Whether any tracker takes entries of this kind. The first call for each kind warns which
   * trackers do not.
   */
  takes(kind: Entry['kind']): boolean {
    return this.#takersOf(kind).length > 0;
  }

  give(payload: Payload, step: number): void {
    this.#push(this.#takersOf(payload.kind), payload, step);
  }

  /** Gives an entry to the trackers that take its kind, without a warning about the others. */
  giveWhereTaken(payload: Payload, step: number): void {
    const method = methodFor(payload.kind);
    this.#push(
      this.#lanes.filter(({ tracker }) => tracker[method]),
      payload,
      step,
    );
  }

  /**
   * Gives a model to the trackers with a registry, and its files to the others. Warns once if a model is to be
   * registered and no tracker has a registry.
   */
  giveModel(model: TrackedModel, step: number): void {
    const registering = this.#lanes.filter(({ tracker }) => tracker.logModel);
    if (model.registeredName !== undefined && registering.length === 0) this.#tellNoRegistry();
    this.#push(registering, { kind: 'model', artifact: model }, step);
    const { name, type, files: listed } = model;
    const others = this.#lanes.filter((lane) => !registering.includes(lane));
    const canList = others.every(({ tracker }) => tracker.logArtifact);
    const listing = canList ? others : this.#takersOf('artifact').filter((lane) => others.includes(lane));
    this.#push(listing, { kind: 'artifact', artifact: { name, type, files: listed } }, step);
  }

  #push(lanes: readonly Lane[], payload: Payload, step: number): void {
    const entry: Entry = { ...payload, step, sequence: this.#sequence++, timeMs: Date.now() };
    for (const lane of lanes) lane.push(entry);
  }

  /** Called once in each step. Makes the calls of trackers in loops that block the event loop. */
  beat(): void {
    if (!this.#ending.beat()) return;
    for (const lane of this.#lanes) {
      lane.advance();
      // Sending needs the event loop. On disk, the data survives if the process is killed.
      if (lane.isBusy) lane.keep();
    }
  }

  /** Sends the rest and finishes the run. Data that cannot be sent is kept on disk. */
  finish(status: RunStatus): Promise<void> {
    return (this.#finishing ??= this.#finish(status));
  }

  async #finish(status: RunStatus): Promise<void> {
    clearInterval(this.#pulse);
    const { endDownMs } = this.#given.limits;
    const times = { downMs: endDownMs, deadlineMs: this.#deadlineMs };
    await Promise.all(this.#allLanes.map((lane) => lane.finish(status, times)));
    this.#close(status);
  }

  /** Finishes the run in a process that is about to end. */
  #interrupted(status: RunStatus): Promise<void> {
    this.#deadlineMs = performance.now() + this.#given.limits.interruptedMs;
    for (const lane of this.#allLanes) lane.hurry(this.#deadlineMs);
    return this.finish(status);
  }

  /** Finishes the run without waiting. The process ends when it returns. */
  #exiting(status: RunStatus): void {
    if (this.#isClosed) return;
    for (const lane of this.#allLanes) lane.finishNow(status);
    this.#close(status);
  }

  #close(status: RunStatus): void {
    this.#isClosed = true;
    clearInterval(this.#pulse);
    this.#ending.dispose();
    this.#write(status);
    for (const lane of this.#lanes) lane.reportEnd();
  }

  get #allLanes(): readonly Lane[] {
    return [...this.#lanes, ...this.#keptLanes];
  }

  #advance(): void {
    for (const lane of this.#allLanes) lane.advance();
  }

  #takersOf(kind: Entry['kind']): readonly Lane[] {
    const known = this.#takers.get(kind);
    if (known) return known;
    const method = methodFor(kind);
    const takers = this.#lanes.filter(({ tracker }) => tracker[method]);
    if (takers.length < this.#lanes.length) this.#tellWhoTakes(kind, takers);
    this.#takers.set(kind, takers);
    return takers;
  }

  #tellWhoTakes(kind: Entry['kind'], takers: readonly Lane[]): void {
    const others = this.#lanes.filter((lane) => !takers.includes(lane));
    const names = (lanes: readonly Lane[]) => lanes.map(({ tracker }) => tracker.name).join(', ');
    const lack = `These trackers lack ${methodFor(kind)}: ${names(others)}.`;
    this.#given.warn(
      takers.length > 0
        ? `acc: entries of kind ${kind} go to ${names(takers)}. ${lack}`
        : `acc: entries of kind ${kind} are not recorded. ${lack} To record them, add 'jsonl' to logWith.`,
    );
  }

  #tellNoRegistry(): void {
    if (this.#hasToldNoRegistry) return;
    this.#hasToldNoRegistry = true;
    const names = this.#lanes.map(({ tracker }) => tracker.name).join(', ');
    this.#given.warn(
      `acc: models are not registered: no tracker of this run (${names}) has a registry of models. To register them, add 'mlflow' to logWith.`,
    );
  }

  #write(status: 'running' | RunStatus): void {
    keepRecord(this.#path, this.#record(status), this.#given.warn);
  }

  get #path(): string {
    const { dir, rank } = this.#given.run;
    return recordPath(dir, rank);
  }

  #record(status: 'running' | RunStatus): RunRecord {
    const { dir: _, ...identity } = this.#given.run;
    return {
      version: 1,
      run: identity,
      status,
      pid: status === 'running' ? processId : 0,
      host: hostName(),
      trackers: { ...this.#given.earlier, ...this.trackerIds },
      unsent: this.#lanes.filter(({ isFinished }) => !isFinished).map(({ tracker }) => tracker.name),
    };
  }
}

/** @param problem The start of the error's message. */
function inProjectDir(problem: string, work: () => void): void {
  try {
    work();
  } catch (cause) {
    throw new AccError('ACC_PROJECT_DIR', `${problem}: ${(cause as Error).message}`, {
      help: 'Choose a projectDir in which this process can write.',
      cause,
    });
  }
}

function cannotResume({ name }: Tracker, run: RunInfo): AccError {
  return new AccError(
    'ACC_TRACKER_CANNOT',
    `${name} cannot continue run ${run.id}, because it has no method resume.`,
    {
      help: 'Leave it out of logWith, or begin a new run.',
      details: { kind: 'resume', trackers: [name] },
    },
  );
}

function cannotStart({ tracker, brokenBy }: Lane): AccError {
  const message = brokenBy instanceof Error ? brokenBy.message : String(brokenBy);
  return new AccError('ACC_TRACKER_START', `Tracker ${tracker.name} can't start: ${message}`, {
    help: 'Correct its options, or leave it out of logWith.',
    cause: brokenBy,
    details: { tracker: tracker.name },
  });
}

import {
  AccError,
  checkKeys,
  nearestName,
  type RunConfig,
  type RunInfo,
  type RunStatus,
  type Tracker,
} from '@acc/contract';
import { files, join, resolve, settleFiles } from '@acc/platform';
import { invalidValue } from './errors.js';
import { DEFAULT_LIMITS, type TrackerLimits } from './limits.js';
import { takeArtifact } from './payload/artifact.js';
import { takeConfig } from './payload/config.js';
import { takeHistogram, type HistogramInput } from './payload/histogram.js';
import { takeImages, type ImageInputs } from './payload/images.js';
import { takeMetrics, type MetricValues } from './payload/metrics.js';
import { takeRegistration, type RegistrationOptions } from './payload/model.js';
import { takeTable, type TableInput } from './payload/table.js';
import { requireRecord, show } from './payload/values.js';
import type { RecordedTracker } from './recorded-tracker.js';
import { Recording } from './recording.js';
import { identityOf, type RunIdentity, type TrackersState } from './run-identity.js';
import { openRuns, openTables, runFolder } from './run-record.js';

export interface LogOptions {
  /** Default: the number of optimizer steps taken so far. */
  readonly step?: number;
}

export interface HistogramOptions extends LogOptions {
  /** The number of bins. Default 64. */
  readonly bins?: number;
}

export interface ArtifactOptions extends LogOptions {
  /** The type of the artifact: `model`, `dataset`, `checkpoint`. Default `file`. */
  readonly type?: string;
}

export interface ModelOptions extends LogOptions, RegistrationOptions {}

const MODEL_OPTIONS = ['step', 'registeredName', 'aliases'] as const;

export interface BusOptions {
  readonly rank: number;
  readonly size: number;
  /** Shows a warning to the user. Default `console.warn`. */
  readonly warn?: (message: string) => void;
  readonly limits?: Partial<TrackerLimits>;
}

export interface BusRun {
  readonly identity: RunIdentity;
  readonly config: RunConfig;
  readonly projectDir: string;
  readonly trackers: readonly RecordedTracker[];
}

/**
 * Passes logged data from a training to its trackers, in order, and keeps data that they cannot
 * take now. A tracker never stops or delays a step. It records one run at a time.
 */
export class TrackerBus {
  readonly #options: BusOptions;
  readonly #limits: TrackerLimits;
  readonly #warn: (message: string) => void;
  #recording: Recording | undefined;
  #run: RunInfo | undefined;
  #identity: RunIdentity | undefined;
  #loaded: RunIdentity | undefined;
  #isFinished = false;
  /** The names of all trackers, on any rank. */
  #names: readonly string[] = [];

  /** The number of optimizer steps so far. It is the default step of logged data. */
  step = 0;

  constructor(options: BusOptions) {
    this.#options = options;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#warn = options.warn ?? ((message) => console.warn(message));
  }

  /** The run of a loaded checkpoint, which the next `start` resumes. */
  get loaded(): RunIdentity | undefined {
    return this.#loaded;
  }

  /** The current run. */
  get run(): RunInfo | undefined {
    return this.#run;
  }

  /** Whether a run is in progress. The same on all ranks. */
  get isRunning(): boolean {
    return this.#run !== undefined && !this.#isFinished;
  }

  /**
   * Starts the trackers. Resolves when they have started. A tracker that takes long continues to
   * start in the background.
   *
   * @throws AccError `ACC_TRACKER_START` if a tracker cannot start, `ACC_TRACKER_CANNOT`,
   * `ACC_TRACKER_INVALID`, `ACC_TRACKER_DUPLICATE`, `ACC_TRACKERS_RUNNING`.
   */
  async start({ identity, config, projectDir, trackers }: BusRun): Promise<void> {
    if (this.isRunning) throw alreadyRunning(this.#run!);
    const ownConfig = takeConfig(config);
    const { rank, size } = this.#options;
    const dir = resolve(runFolder(projectDir, identity.project, identity.id));
    await openRuns(projectDir);
    await openTables(projectDir, dir);
    const own = trackers.filter(({ tracker }) => rank === 0 || tracker.ranks === 'all');
    requireDifferentNames(own);
    const run: RunInfo = { ...identityOf(identity), dir, rank, size };
    if (own.length > 0) {
      const { earlier } = identity;
      const parts = { run, projectDir, trackers: own, earlier, limits: this.#limits, warn: this.#warn };
      this.#recording = new Recording(parts);
    }
    this.#run = run;
    this.#names = trackers.map(({ tracker }) => tracker.name);
    this.#identity = identity;
    this.#isFinished = false;
    if (!this.#recording) return;
    if (Object.keys(ownConfig).length > 0) {
      this.#recording.give({ kind: 'config', config: ownConfig }, this.step);
    }
    await this.#recording.started();
    // A page may end at any time. From here on, the next one finds the run.
    await settleFiles();
  }

  /**
   * @throws AccError `ACC_INVALID_ARGUMENT`, `ACC_TRACKERS_NOT_STARTED`, `ACC_TRACKERS_FINISHED`,
   * like the other methods.
   */
  log(values: MetricValues, options: LogOptions = {}): void {
    const step = this.#stepOf('log', options);
    this.#recording?.give({ kind: 'metrics', metrics: takeMetrics(values) }, step);
  }

  /**
   * Warns once if some trackers lack `logImage`, also if all do. The following methods do likewise.
   */
  logImages(images: ImageInputs, options: LogOptions = {}): void {
    const step = this.#stepOf('logImages', options);
    if (!this.#recording?.takes('image')) return;
    for (const [key, image] of takeImages(images)) this.#recording.give({ kind: 'image', key, image }, step);
  }

  logHistogram(values: Readonly<Record<string, HistogramInput>>, options: HistogramOptions = {}): void {
    const step = this.#stepOf('logHistogram', options, ['step', 'bins']);
    if (!this.#recording?.takes('histogram')) return;
    requireRecord('logHistogram', values, 'logHistogram({ weights: tensor })');
    const { bins = 64 } = options;
    for (const [key, input] of Object.entries(values)) {
      const histogram = takeHistogram(key, input, bins);
      this.#recording.give({ kind: 'histogram', key, histogram }, step);
    }
  }

  logTable(key: string, table: TableInput, options: LogOptions = {}): void {
    const step = this.#stepOf('logTable', options);
    if (!this.#recording?.takes('table')) return;
    this.#recording.give({ kind: 'table', key, table: takeTable(key, table) }, step);
  }

  logText(texts: Readonly<Record<string, string>>, options: LogOptions = {}): void {
    const step = this.#stepOf('logText', options);
    if (!this.#recording?.takes('text')) return;
    requireRecord('logText', texts, "logText({ note: 'a text' })");
    for (const [key, text] of Object.entries(texts)) {
      this.#recording.give({ kind: 'text', key, text: String(text) }, step);
    }
  }

  /** @throws AccError also `ACC_ARTIFACT_MISSING`. */
  logArtifact(name: string, path: string, options: ArtifactOptions = {}): void {
    const step = this.#stepOf('logArtifact', options, ['step', 'type']);
    if (!this.#recording?.takes('artifact')) return;
    const { type = 'file' } = options;
    this.#recording.give({ kind: 'artifact', artifact: takeArtifact(name, path, type) }, step);
  }

  /**
   * Every rank calls it, and rank 0 logs the files.
   *
   * @param write Writes the model into a folder. Every rank calls it, and only rank 0 uses the path.
   */
  async logModel(name: string, options: ModelOptions, write: (path: string) => Promise<void>): Promise<void> {
    const step = this.#stepOf('logModel', options, MODEL_OPTIONS);
    const registration = takeRegistration(name, options);
    const path = freeFolder(join(this.#run!.dir, 'models', name, String(step)));
    await write(path);
    if (this.#options.rank > 0) return;
    const artifact = takeArtifact(name, path, 'model', 'logModel');
    this.#recording?.giveModel({ ...artifact, ...registration }, step);
  }

  /**
   * A tracker of the run by its name. Undefined on ranks on which it does not run.
   *
   * @throws AccError `ACC_TRACKERS_NOT_STARTED`, `ACC_TRACKER_UNKNOWN`.
   */
  getTracker(name: string): Tracker | undefined {
    if (!this.#run) throw notStarted('getTracker');
    if (!this.#names.includes(name)) throw unknownTracker(name, this.#names);
    return this.#recording?.trackers.find((tracker) => tracker.name === name);
  }

  /**
   * Logs a text `alerts/<kind>` to the trackers that support text, without a warning about the others.
   */
  alert(kind: string, text: string, step: number): void {
    this.#recording?.giveWhereTaken({ kind: 'text', key: `alerts/${kind}`, text }, step);
  }

  /** Called once in each step. */
  beat(): void {
    this.step++;
    this.#recording?.beat();
  }

  /** Sends the rest and finishes the run. Does nothing if no run is in progress. */
  async finish(status: RunStatus): Promise<void> {
    if (!this.isRunning) return;
    this.#isFinished = true;
    await this.#recording?.finish(status);
    await settleFiles();
  }

  /** The state for a checkpoint, as plain JSON. */
  getState(): TrackersState {
    const { trackerIds } = this.#recording ?? {};
    const run = this.#identity && { ...this.#identity, ...(trackerIds && { earlier: trackerIds }) };
    return { run: run ?? this.#loaded ?? null, step: this.step };
  }

  /**
   * Restores a state: the next `start` resumes its run.
   *
   * @throws AccError `ACC_STATE_INVALID`.
   */
  setState(state: TrackersState): void {
    const { run, step } = checkedState(state);
    this.step = step;
    this.#loaded = run ?? undefined;
    if (!run || !this.#run || this.#isFinished || run.id === this.#run.id) return;
    this.#warn(
      `acc: the checkpoint belongs to run ${run.id}, but trackers already record run ${this.#run.id}. To resume the earlier run, call loadState before initTrackers.`,
    );
  }

  #stepOf(method: string, options: LogOptions, known: readonly string[] = ['step']): number {
    if (!this.#run) throw notStarted(method);
    if (this.#isFinished) throw finished(method);
    checkKeys(method, options, known);
    const { step = this.step } = options;
    if (Number.isSafeInteger(step) && step >= 0) return step;
    throw invalidValue(method, `step is ${show(step)}`, 'Steps are whole numbers from 0.');
  }
}

/** The path, or the first of `path-2`, `path-3` … where nothing is. */
function freeFolder(path: string): string {
  let free = path;
  for (let number = 2; files.look(free); number++) free = `${path}-${number}`;
  return free;
}

function checkedState(state: TrackersState): TrackersState {
  const isRun = (run: RunIdentity | null) => run === null || typeof run?.id === 'string';
  if (Number.isSafeInteger(state?.step) && isRun(state.run)) return state;
  throw new AccError('ACC_STATE_INVALID', 'This value is not a state of trackers.', {
    help: 'Pass the value that getState() returned.',
  });
}

function requireDifferentNames(trackers: readonly RecordedTracker[]): void {
  const names = trackers.map(({ tracker }) => tracker.name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice === undefined) return;
  throw new AccError('ACC_TRACKER_DUPLICATE', `logWith has two trackers with the name '${twice}'.`, {
    help: 'Leave one out.',
  });
}

function unknownTracker(name: string, known: readonly string[]): AccError {
  const nearest = nearestName(name, known);
  return new AccError('ACC_TRACKER_UNKNOWN', `No tracker of the run is called '${name}'.`, {
    help: nearest ? `Did you mean '${nearest}'?` : `The trackers are ${known.join(', ') || 'none'}.`,
    details: { name, nearest, known },
  });
}

function notStarted(method: string): AccError {
  return new AccError('ACC_TRACKERS_NOT_STARTED', `${method}() was called before initTrackers().`, {
    help: "Call await accelerator.initTrackers('my-project') first, on every rank.",
  });
}

function finished(method: string): AccError {
  return new AccError('ACC_TRACKERS_FINISHED', `${method}() was called after the end of the run.`, {
    help: 'Log before endTraining().',
  });
}

function alreadyRunning({ project, id }: RunInfo): AccError {
  return new AccError('ACC_TRACKERS_RUNNING', `Run ${id} of '${project}' is still in progress.`, {
    help: 'Call endTraining first. Call initTrackers once for each run.',
  });
}

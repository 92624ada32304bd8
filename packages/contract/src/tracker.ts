/** How a run ended. */
export type RunStatus = 'completed' | 'failed' | 'aborted';

/** What JSON can hold. */
export type ConfigValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly ConfigValue[]
  | { readonly [key: string]: ConfigValue };

/** Hyperparameters and whatever else describes a run. */
export type RunConfig = Readonly<Record<string, ConfigValue>>;

/** The run that a tracker is to record. */
export interface RunInfo {
  /** What the run belongs to: an experiment of MLflow, a project of W&B. */
  readonly project: string;
  /** Letters, digits, `-` and `_`; unlike that of any other run, the same on every rank. */
  readonly id: string;
  /** For people. The id, where the user gave none. */
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
  /** A folder of this run alone, which exists. Trackers of one run share it: files are named after the tracker. */
  readonly dir: string;
  /** When the run began, in ms since 1970. */
  readonly startTimeMs: number;
  /** This process's, from 0, of `size`. */
  readonly rank: number;
  readonly size: number;
}

/** When something was logged, and how its call may be told from others. */
export interface Stamp {
  /**
   * Ascends with what a rank logs in a run, from 0. A call that is repeated has the number it had; no other call of the rank in this
   * run has it, though an earlier process made that.
   */
  readonly sequence: number;
  /** Ms since 1970. */
  readonly timeMs: number;
  /** Aborted when the call has taken too long, and will be repeated: for `fetch`. */
  readonly signal: AbortSignal;
}

/** One call of `log`. */
export interface MetricsRow {
  readonly step: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly sequence: number;
  readonly timeMs: number;
}

/** A picture, ready to store. */
export interface TrackedImage {
  readonly width: number;
  readonly height: number;
  /** A whole PNG file, 8 bits a channel. */
  readonly png: Uint8Array;
}

/** How often values fall between edges. */
export interface TrackedHistogram {
  /** One more than `counts`, ascending, finite. */
  readonly edges: readonly number[];
  readonly counts: readonly number[];
  /** Of the finite values. */
  readonly min: number;
  readonly max: number;
  readonly sum: number;
  readonly sumSquares: number;
  /** NaN and infinities, which no bin holds. */
  readonly nonFinite: number;
}

export type Cell = string | number | boolean | null;

export interface TrackedTable {
  readonly columns: readonly string[];
  /** Each row has a cell for each column. */
  readonly rows: readonly (readonly Cell[])[];
}

/** Files that belong to a run: a model, a checkpoint. */
export interface TrackedArtifact {
  readonly name: string;
  /** What they are: `model`, `dataset`, `checkpoint`, `file`. */
  readonly type: string;
  readonly files: readonly TrackedFile[];
}

export interface TrackedFile {
  /** Its name within the artifact, folders divided by `/`. */
  readonly name: string;
  /** Where it lies, absolute. */
  readonly path: string;
  readonly bytes: number;
}

/**
 * Records runs somewhere: a file, a service. Three members beside the name are required. An absent one means "cannot": then
 * the user hears of it who asks for it.
 *
 * The bus calls one method at a time, in the order of what was logged, `start` first and `finish` last. A method that does
 * its work before it returns gives nothing; one that waits for something gives a promise.
 *
 * An error with the code `ACC_TRACKER_UNAVAILABLE` says that the same call may succeed later, and that repeating it does
 * no harm: the bus keeps what was logged and calls again, as it does after a call that never came to its end. After any other
 * error it goes on with what comes next, and tells the user once.
 */
export interface Tracker {
  readonly name: string;
  /** On which ranks it runs. Default `main`: rank 0 alone. */
  readonly ranks?: 'main' | 'all';
  /** What the service calls the run, once it has started, if not by its id; `resume` gets it back. */
  readonly runId?: string | undefined;
  /** The service's own object, for what this interface lacks. */
  readonly client?: unknown;

  /** Begins a run. */
  start(run: RunInfo): Promise<void>;
  /** @param metrics Numbers, NaN and infinities among them, by name. Not to be changed. */
  log(step: number, metrics: Readonly<Record<string, number>>, stamp: Stamp): void | Promise<void>;
  /** Everything logged is stored, and nothing stays open. Nothing is called after that. */
  finish(status: RunStatus): Promise<void>;

  /** Several calls of `log` in one; then `log` itself is not called. In order, at most 500. */
  logBatch?(rows: readonly MetricsRow[], stamp: Stamp): void | Promise<void>;
  /** Once, after `start`, and again when a resumed run brings its own. */
  logConfig?(config: RunConfig, stamp: Stamp): void | Promise<void>;
  logText?(step: number, key: string, text: string, stamp: Stamp): void | Promise<void>;
  logImage?(step: number, key: string, image: TrackedImage, stamp: Stamp): void | Promise<void>;
  logHistogram?(step: number, key: string, histogram: TrackedHistogram, stamp: Stamp): void | Promise<void>;
  logTable?(step: number, key: string, table: TrackedTable, stamp: Stamp): void | Promise<void>;
  logArtifact?(step: number, artifact: TrackedArtifact, stamp: Stamp): void | Promise<void>;
  /** In place of `start`: goes on with a run that an earlier process began. `runId` is what the tracker called it then. */
  resume?(run: RunInfo, runId: string): Promise<void>;
}

/** The default export of a tracker's package. Makes nothing but the object: the work begins with `start`. */
export type TrackerFactory<Options extends object = object> = (options?: Options) => Tracker;

/** The members a tracker may have. */
export const TRACKER_KEYS = [
  'name',
  'ranks',
  'runId',
  'client',
  'start',
  'log',
  'finish',
  'logBatch',
  'logConfig',
  'logText',
  'logImage',
  'logHistogram',
  'logTable',
  'logArtifact',
  'resume',
] as const;

/** How a run ended. */
export type RunStatus = 'completed' | 'failed' | 'aborted';

/** A value that JSON can represent. */
export type ConfigValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly ConfigValue[]
  | { readonly [key: string]: ConfigValue };

/** Hyperparameters and other data that describe a run. */
export type RunConfig = Readonly<Record<string, ConfigValue>>;

/** The run that a tracker records. */
export interface RunInfo {
  /** The project of the run: an experiment in MLflow, a project in W&B. */
  readonly project: string;
  /** Letters, digits, `-` and `_`. It is unique, and the same on every rank. */
  readonly id: string;
  /** The name for people. Default: the id. */
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
  /**
   * An existing folder for this run only. The trackers of a run share it, so files are named after
   * the tracker.
   */
  readonly dir: string;
  /** The time at which the run began, in milliseconds since 1970. */
  readonly startTimeMs: number;
  /** The rank of this process, from 0 to `size` - 1. */
  readonly rank: number;
  readonly size: number;
}

/** The time of a logged entry, and a number that identifies its call. */
export interface Stamp {
  /**
   * Ascends with the entries of a rank in a run, from 0. A repeated call has the same number. No
   * other call of the rank in this run has it, including calls of earlier processes.
   */
  readonly sequence: number;
  /** Milliseconds since 1970. */
  readonly timeMs: number;
  /** Aborted if the call takes too long. The call is then repeated. Pass it to `fetch`. */
  readonly signal: AbortSignal;
}

/** One call of `log`. */
export interface MetricsRow {
  readonly step: number;
  readonly metrics: Readonly<Record<string, number>>;
  readonly sequence: number;
  readonly timeMs: number;
}

/** An image that is ready to be stored. */
export interface TrackedImage {
  readonly width: number;
  readonly height: number;
  /** A complete PNG file with 8 bits per channel. */
  readonly png: Uint8Array;
}

/** The numbers of values between edges. */
export interface TrackedHistogram {
  /** One more than `counts`, ascending and finite. */
  readonly edges: readonly number[];
  readonly counts: readonly number[];
  /** The minimum of the finite values. */
  readonly min: number;
  readonly max: number;
  readonly sum: number;
  readonly sumSquares: number;
  /** The number of NaN and infinite values, which are in no bin. */
  readonly nonFinite: number;
}

export type Cell = string | number | boolean | null;

export interface TrackedTable {
  readonly columns: readonly string[];
  /** Each row has one cell for each column. */
  readonly rows: readonly (readonly Cell[])[];
}

/** Files of a run, such as a model or a checkpoint. */
export interface TrackedArtifact {
  readonly name: string;
  /** The type of the files: `model`, `dataset`, `checkpoint`, `file`. */
  readonly type: string;
  readonly files: readonly TrackedFile[];
}

/** The files of a model. */
export interface TrackedModel extends TrackedArtifact {
  /**
   * The name in the service's registry of models, of which this model becomes the next version. Undefined:
   * it is not registered.
   */
  readonly registeredName: string | undefined;
  /** Names such as `champion` that then point to this version, and no longer to an earlier one. */
  readonly aliases: readonly string[];
}

export interface TrackedFile {
  /** The name within the artifact. Folders are separated by `/`. */
  readonly name: string;
  /** The absolute path of the file. */
  readonly path: string;
  readonly bytes: number;
}

/**
 * Records runs, for example in a file or a service. The name and three methods are required. A
 * missing optional method means that the tracker does not support this kind of data; the user is
 * told when it is used.
 *
 * The bus calls one method at a time, in the order of logging, first `start` and last `finish`. A
 * method that completes its work synchronously returns nothing. A method that waits returns a
 * promise.
 *
 * An error with the code `ACC_TRACKER_UNAVAILABLE` means that the same call may succeed later, and
 * that it is safe to repeat. The bus then keeps the data and repeats the call. It also repeats a
 * call that never ended, and one that met a full disk (`ENOSPC`, `EDQUOT`). After any other error it
 * continues with the next entry, and warns the user once.
 */
export interface Tracker {
  readonly name: string;
  /** The ranks on which it runs. Default `main`: rank 0 only. */
  readonly ranks?: 'main' | 'all';
  /**
   * The id that the service gave the run at its start, if it differs from the run's id. It is
   * passed to `resume`.
   */
  readonly runId?: string | undefined;
  /** The service's own client, for features that this interface does not have. */
  readonly client?: unknown;

  /** Begins a run. */
  start(run: RunInfo): Promise<void>;
  /** @param metrics Numbers by name, including NaN and infinities. Do not change it. */
  log(step: number, metrics: Readonly<Record<string, number>>, stamp: Stamp): void | Promise<void>;
  /** Stores everything that was logged and closes all resources. No call follows. */
  finish(status: RunStatus): Promise<void>;

  /**
   * Receives several calls of `log` at once, at most 500, in order. `log` itself is then not
   * called.
   */
  logBatch?(rows: readonly MetricsRow[], stamp: Stamp): void | Promise<void>;
  /** Called once after `start`, and again if a resumed run has another config. */
  logConfig?(config: RunConfig, stamp: Stamp): void | Promise<void>;
  logText?(step: number, key: string, text: string, stamp: Stamp): void | Promise<void>;
  logImage?(step: number, key: string, image: TrackedImage, stamp: Stamp): void | Promise<void>;
  logHistogram?(step: number, key: string, histogram: TrackedHistogram, stamp: Stamp): void | Promise<void>;
  logTable?(step: number, key: string, table: TrackedTable, stamp: Stamp): void | Promise<void>;
  logArtifact?(step: number, artifact: TrackedArtifact, stamp: Stamp): void | Promise<void>;
  /** Only a tracker with a registry of models has it. The others get models by `logArtifact`. */
  logModel?(step: number, model: TrackedModel, stamp: Stamp): void | Promise<void>;
  /**
   * Called instead of `start` to continue a run of an earlier process. `runId` is the id that the
   * tracker gave the run then.
   */
  resume?(run: RunInfo, runId: string): Promise<void>;
}

/** The default export of a tracker package. It only creates the object; work begins with `start`. */
export type TrackerFactory<Options extends object = object> = (options?: Options) => Tracker;

/** The members that a tracker may have. */
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
  'logModel',
  'resume',
] as const;

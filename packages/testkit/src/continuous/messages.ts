/** Asks a rank to run a module. */
export interface RunMessage {
  /** The same for all ranks of one run, and different for each run. */
  readonly id: string;
  /** The URL of the module, in JavaScript. */
  readonly url: string;
  /** Encoded by `encodeResult`. */
  readonly args: string;
}

/** A rank's answer: the encoded result of the module, or its error. */
export type Answer =
  | { readonly id: string; readonly result: string; readonly left: readonly string[] }
  | { readonly id: string; readonly error: string };

/** The channel of `node:diagnostics_channel` on which both sides tell of runs, for tools that count. */
export const RUNS_CHANNEL = '@acc/testkit:runs';

/** The channel on which a test process tells of the end of continuous jobs. */
export const JOBS_CHANNEL = '@acc/testkit:jobs';

/** The message of a test process on {@link RUNS_CHANNEL} when a run begins. */
export interface RunBegins {
  readonly id: string;
  readonly ranks: number;
  /** Whether the ranks go on after the run. */
  readonly isContinuous: boolean;
  /** Whether new processes were started for it. */
  readonly isNewJob: boolean;
}

/**
 * The message of a test process on {@link JOBS_CHANNEL} before the processes of a continuous job
 * are ended.
 */
export interface JobEnds {
  readonly pids: readonly number[];
}

/** The message of each rank on {@link RUNS_CHANNEL} when a run has ended. */
export interface RunEnded {
  readonly id: string;
  /** Of the whole process since its start, in seconds, user and system. */
  readonly processorSeconds: number;
}

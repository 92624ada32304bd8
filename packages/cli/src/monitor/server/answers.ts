import type { Diagnosis } from '@acc/records';
import type { Axis } from '../curves/catalogue.js';
import type { PhaseTimes } from '../curves/phases.js';
import type { Drawn } from '../curves/pixel-columns.js';

// The JSON that the server sends to the page.

/** An error of a run. `message` has the next step after a line break and an arrow. */
export interface Problem {
  readonly code: string;
  readonly message: string;
}

export interface RunSummary {
  readonly id: string;
  /** `mnist/1`. */
  readonly name: string;
  readonly folder: string;
  /** When records were last written, in milliseconds since 1970. */
  readonly changedAt: number;
}

/** `GET /api/runs`: the newest one first. */
export interface RunList {
  readonly runs: readonly RunSummary[];
}

export interface RankTimes {
  readonly rank: number;
  readonly host: string;
  /** Milliseconds by the id of a phase, and `step`. Undefined: no step was recorded. */
  readonly phases: PhaseTimes | undefined;
  /** Phases that take longer than on other ranks. */
  readonly longer: readonly string[];
}

/** An alert of `autoLog`. */
export interface LoggedAlert {
  readonly kind: string;
  readonly text: string;
  readonly step: number;
}

export interface LoggedImage {
  readonly key: string;
  readonly step: number;
  /** `GET /api/image?run=…&file=…`. */
  readonly file: string;
  readonly width: number;
  readonly height: number;
}

export interface LoggedTable {
  readonly key: string;
  readonly step: number;
  readonly columns: readonly string[];
  /** The first ones. */
  readonly rows: readonly (readonly string[])[];
  readonly rowCount: number;
}

/** A request to a running job. */
export interface AskedNow {
  readonly ask: 'stacks' | 'window';
  /** The step after which the window begins. */
  readonly fromStep?: number;
}

/** A collective, or a message between two ranks. */
export interface LastCall {
  /** The position among the collectives of its group, from 1. 0 for a message. */
  readonly number: number;
  readonly call: string;
  /** Since it began. */
  readonly secondsAgo: number;
}

/** Where a rank is. `silent`: why it gave no answer. */
export type RankStack =
  | { readonly rank: number; readonly silent: string }
  | {
      readonly rank: number;
      readonly silent?: never;
      readonly pid: number;
      /** Where its main thread is. */
      readonly place: string;
      /** The state of its main thread by the system. */
      readonly thread: string | undefined;
      /** Functions of JavaScript, the innermost one first. */
      readonly frames: readonly string[];
      readonly isInCollective: boolean;
      readonly collectives: number;
      /** The oldest one first. */
      readonly calls: readonly LastCall[];
      /** The line of the program that was last known to make a call. */
      readonly line: string | undefined;
    };

/** A job that is attached. */
export interface JobDetails {
  readonly isRunning: boolean;
  /** The request that it has not answered yet. */
  readonly asked: AskedNow | undefined;
  readonly stacks: { readonly at: number; readonly ranks: readonly RankStack[] } | undefined;
  /** Why the last request has no, or no whole, answer. */
  readonly problem: string | undefined;
}

/** Steps of all ranks that were profiled on request. */
export interface WindowSummary {
  readonly id: number;
  /** Its begin, in milliseconds since 1970. */
  readonly at: number;
  readonly ms: number;
  readonly steps: number;
  readonly ranks: readonly number[];
  /** Ranks whose memory is known. */
  readonly memoryOf: readonly number[];
}

/** A complete checkpoint. */
export interface SavedCheckpoint {
  readonly step: number;
  readonly folder: string;
  /** The time of the save in ISO 8601 format. */
  readonly savedAt: string;
  readonly metrics: Readonly<Record<string, number | null>>;
}

/** The checkpoints of a run, and how to go on from one. */
export interface Checkpoints {
  /** Where they are saved: a folder, or the address of a storage. */
  readonly place: string;
  /** Whether it is a folder of this machine, of which the list is. */
  readonly isListed: boolean;
  /** The newest one first. */
  readonly saved: readonly SavedCheckpoint[];
  /** The command that started the job, with its folder. */
  readonly command: string | undefined;
}

/** `GET /api/run?id=…`. */
export interface RunDetails {
  readonly id: string;
  readonly version: number;
  readonly isLive: boolean;
  /** The last step. */
  readonly step: number;
  /** The ranks of the job. */
  readonly rankCount: number;
  readonly verdict: Diagnosis | Problem;
  /** The steps that the verdict and the times of ranks are about, at most. */
  readonly judgedSteps: number;
  readonly recentSteps: number;
  readonly ranks: readonly RankTimes[];
  readonly alerts: readonly LoggedAlert[];
  /** Whether the run writes alerts to a file that is read. */
  readonly hasAlertFile: boolean;
  readonly images: readonly LoggedImage[];
  readonly tables: readonly LoggedTable[];
  /** Undefined: older records do not name them. */
  readonly checkpoints: Checkpoints | undefined;
  /** The newest one first. */
  readonly windows: readonly WindowSummary[];
  /** Undefined: the command was not told to attach to it. */
  readonly job: JobDetails | undefined;
  readonly error: Problem | undefined;
  readonly problems: readonly string[];
  /** Options and facts by their path. */
  readonly options: Readonly<Record<string, string | number | boolean>>;
}

export interface DrawnSeries extends Drawn {
  readonly run: string;
  readonly rank: number;
  /** Of all points. */
  readonly last: number | null;
}

export interface DrawnCurve {
  readonly id: string;
  readonly series: readonly DrawnSeries[];
  /** Ranks that are not among the series. */
  readonly hiddenRanks: number;
}

/** `GET /api/curves?runs=…&axis=…&width=…[&from=…&to=…]`. Curves without a point are left out. */
export interface CurveSet {
  readonly axis: Axis;
  readonly from: number;
  readonly to: number;
  readonly curves: readonly DrawnCurve[];
}

/** Begin and length in milliseconds, the name, and how many spans are drawn as this one. */
export type DrawnSpan = readonly [begin: number, ms: number, name: string, count: number];

export interface DrawnLane {
  readonly lane: string;
  readonly spans: readonly DrawnSpan[];
}

/** The time of an operator or a collective in a part of a window, on each rank that is drawn. */
export interface NameTime {
  readonly lane: string;
  readonly name: string;
  readonly calls: number;
  readonly ms: readonly number[];
}

/** `GET /api/window?run=…&id=…&width=…[&from=…&to=…]`. Times are in milliseconds from its begin on. */
export interface DrawnWindow {
  /** Of the whole window. */
  readonly ms: number;
  readonly from: number;
  readonly to: number;
  readonly ranks: readonly { readonly rank: number; readonly lanes: readonly DrawnLane[] }[];
  readonly names: readonly NameTime[];
}

/** `GET /api/memory?run=…&id=…&rank=…`. */
export interface WindowMemory {
  readonly rank: number;
  readonly owners: readonly string[];
  /** In milliseconds from the begin of the window on. */
  readonly at: readonly number[];
  /** The bytes of each owner at those times. */
  readonly bytes: readonly (readonly number[])[];
}

/** `POST /api/ask`, with the JSON of this. */
export interface Ask {
  readonly run: string;
  readonly ask: 'stacks' | 'window';
  /** Of a window. */
  readonly steps?: number;
}

/** `GET /api/events`: what changed. */
export interface Change {
  /** Versions of the runs that were read. */
  readonly versions: Readonly<Record<string, number>>;
  /** The number of runs. */
  readonly runs: number;
}

import type { Diagnosis } from '@acc/records';
import type { Axis } from '../curves/catalogue.js';
import type { PhaseTimes } from '../curves/phases.js';
import type { Drawn } from '../curves/pixel-columns.js';
import type { LoggedAlert } from '../runs/alerts.js';

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

/** `GET /api/events`: what changed. */
export interface Change {
  /** Versions of the runs that were read. */
  readonly versions: Readonly<Record<string, number>>;
  /** The number of runs. */
  readonly runs: number;
}

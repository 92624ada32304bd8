import type { SampleColumn, StepColumn } from '../format.js';
import type { Facts } from '../facts.js';
import type { Run } from './run.js';

/** A figure that a finding rests on, and the limit that it passes. */
export interface Evidence {
  readonly quantity: string;
  readonly value: number;
  readonly unit: string;
  /** The threshold of the detector. Undefined: the figure explains, and has none. */
  readonly limit?: number;
}

/** The option to change. */
export interface Change {
  /** The option, with its path: `checkpoint.async`. */
  readonly option: string;
  /** Null: not known, or the default. */
  readonly from: unknown;
  readonly to: unknown;
  /** Where the program sets it: `train.ts:12:28`. Null: not known. */
  readonly line: string | null;
}

/** The share of the time that a change saves: 0.25 makes 75 ms of 100 ms. */
export interface Gain {
  readonly low: number;
  readonly mid: number;
  readonly high: number;
  /** `simulated`: by a replay of the recorded steps. `formula`: by that of the guide's section. */
  readonly how: 'simulated' | 'formula';
}

/** Something that holds a training back. */
export interface Finding {
  readonly id: string;
  /** `critical`: the training is broken, or the cause costs much of the time. Each detector has its threshold. */
  readonly severity: 'warning' | 'critical';
  /** The share of the time of the run that it costs, from 0 to 1. */
  readonly share: number;
  readonly evidence: readonly Evidence[];
  readonly cause: string;
  /** The ranks that it is about. */
  readonly ranks: readonly number[];
  /** The first recorded step that it is seen in. Null: all of them. */
  readonly since: { readonly step: number; readonly time: string } | null;
  readonly advice: string;
  /** Null: no option, but code or the machine. */
  readonly change: Change | null;
  /** Null: it is not about time, or it is not known. */
  readonly gain: Gain | null;
}

/** The records that a detector reads. It is not asked without them. */
export interface Needs {
  readonly steps?: readonly StepColumn[];
  readonly samples?: readonly SampleColumn[];
  readonly facts?: readonly (keyof Facts)[];
  /** Times of passes, which are known on the CPU alone: a GPU still computes when a pass returns. */
  readonly passes?: boolean;
  /** Records of all ranks, at least so many. */
  readonly ranks?: number;
  /** Default 20. */
  readonly minSteps?: number;
}

/** Looks for one cause in the records of a run. It is pure: equal records give equal findings. */
export interface Detector {
  readonly id: string;
  readonly needs: Needs;
  /** Undefined: not found. A text: why it cannot be judged in this run. */
  find(run: Run): Finding | string | undefined;
}

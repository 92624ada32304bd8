import type { Collective, KernelLayer } from '@acc/contract';
import type { Accelerator } from '../index.js';

/** Objects that the checks use on a rank. */
export interface Subject {
  readonly accelerator: Accelerator;
  readonly collective: Collective;
  readonly kernels: KernelLayer;
  readonly plan: SelfCheckPlan;
}

/** The request of the command `acc test`. It is the argument of the program of a rank. */
export interface SelfCheckPlan {
  /** Where ranks write what they found, and a checkpoint for a while. */
  readonly folder: string;
  /** Modules that are imported first: they bring backends of tfjs. */
  readonly imports: readonly string[];
  /** Whether stdout is kept free. */
  readonly isJson: boolean;
  /** Whether products or sums are rounded to 16 bits. */
  readonly isRounded: boolean;
  /** The type of products, as the option `mixedPrecision`. */
  readonly mixedPrecision: string;
  /** Checks that say nothing with these options, with the reason. */
  readonly leftOut: Readonly<Record<string, string>>;
}

/** The result of a check on this rank. */
export interface Finding {
  /** Why it fails. Undefined: it does not. */
  readonly problem?: string | undefined;
  /** The subject of the check, in a few words. */
  readonly note?: string;
  /** Why nothing could be checked. */
  readonly leftOut?: string;
  readonly figures?: readonly Figure[];
}

/** The speed of an all-reduce. */
export interface Figure {
  readonly bytes: number;
  readonly microseconds: number;
  /** The rate at which each rank sends and receives in a ring, in 10⁹ bytes a second. */
  readonly gigabytesPerSecond: number;
}

/** A check that every rank runs. All ranks make the same collective calls, also where one fails. */
export interface Check {
  readonly name: string;
  readonly run: (subject: Subject) => Finding | Promise<Finding>;
}

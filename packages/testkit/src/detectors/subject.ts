import type { Detector, Finding, RecordedRun } from '@acc/records';

/** A detector under test, with records for it. */
export interface DetectorSubject {
  readonly detector: Detector;
  /** Runs that have the cause, at least one. `syntheticRun` makes records. */
  readonly sick: readonly RecordedRun[];
  /** Runs without the cause, also some that nearly have it. */
  readonly healthy: readonly RecordedRun[];
  /** Ids of its findings, if it names several causes. Default: its own id. */
  readonly ids?: readonly string[];
  /** Options of yours that its findings change, beside those of the Accelerator and of `acc launch`. */
  readonly options?: readonly string[];
}

/** A rule for every detector. */
export interface DetectorCase {
  readonly name: string;
  run(subject: DetectorSubject): Promise<void>;
}

/** The result of a diagnosis with a detector: its findings, and why it could not judge. */
export interface Judged {
  readonly findings: readonly Finding[];
  readonly reason: string | undefined;
}

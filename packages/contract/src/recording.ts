import type { Tensor } from '@tensorflow/tfjs-core';

/**
 * What stays JavaScript in a recorded step: it is called again in each replay, with new tensors, which it borrows. What
 * it returns is of the same shapes each time.
 */
export type HostAction = (inputs: readonly Tensor[]) => readonly (Tensor | null)[];

/** Writes down the native calls of a step while it runs. */
export interface Recorder {
  /** True inside {@link record}. */
  readonly isRecording: boolean;
  /**
   * Runs `step`, a function of the tensors `args`, and records it. An error of `step` is the caller's; then nothing is
   * recorded.
   */
  record(args: readonly Tensor[], step: () => readonly Tensor[]): Recorded;
  /** Runs `action`, in a recorded step outside of the recording. */
  host(inputs: readonly Tensor[], action: HostAction): readonly (Tensor | null)[];
}

export interface Recorded {
  /** What the step has returned. */
  readonly results: readonly Tensor[];
  /** The recording, or why the step cannot be repeated. */
  readonly recording: Recording | string;
}

/** A step to be repeated. The owner disposes it. */
export interface Recording {
  /** In words, the first thing in which `other`, of the same step, differs; undefined for none. */
  differenceFrom(other: Recording): string | undefined;
  /** To be called before the first {@link replay}, and after the last {@link differenceFrom}. */
  seal(): void;
  /** Whether it may be replayed with `args`: what else the step took is still there. */
  fits(args: readonly Tensor[]): boolean;
  /**
   * The step again, with new `args` of the shapes and dtypes that it was recorded with. To be called in a tidy. The results
   * are the caller's.
   *
   * @returns The error, with nothing changed, when the calls before the first action fail: run the step itself, which
   * then says why.
   * @throws AccError `ACC_OPERATOR_FAILED`, `ACC_OUT_OF_MEMORY`, and what actions throw.
   */
  replay(args: readonly Tensor[]): readonly Tensor[] | Error;
  dispose(): void;
}

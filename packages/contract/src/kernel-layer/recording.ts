import type { Tensor } from '@tensorflow/tfjs-core';

/**
 * JavaScript of a recorded step that each replay calls again, with new tensors, which it borrows.
 * Its results must have the same shapes each time.
 */
export type RecordedAction = (inputs: readonly Tensor[]) => readonly (Tensor | null)[];

export interface ActionOptions {
  /**
   * Called if a replay fails later than in this action, which it may have to undo. In a run that is
   * no replay, callers catch errors themselves.
   */
  readonly afterFailure?: () => void;
  /**
   * Whether a replay frees the inputs after the action, and the results when the native calls after
   * it have them. Otherwise they live until the tidy of the replay ends.
   */
  readonly isPassing?: boolean;
  /** A description of the action, for `explain`. */
  readonly what?: string;
  /** The object of the program that it uses, such as an optimizer. Recordings with others differ. */
  readonly user?: object;
}

/** Records the native calls of a step while it runs. */
export interface Recorder {
  /** Whether {@link record} is running. */
  readonly isRecording: boolean;
  /** Whether native calls are being recorded: those of actions are not. */
  readonly records: boolean;
  /**
   * Runs `step`, a function of the tensors `args`, and records it. Errors of `step` are passed to
   * the caller, and nothing is recorded then.
   *
   * @param isExplained Whether the recording's explanation names lines of the program, which costs
   * some microseconds for each call. Default: true.
   */
  record(args: readonly Tensor[], step: () => readonly Tensor[], isExplained?: boolean): Recorded;
  /**
   * Runs `action`. While a step is recorded, native calls of `action` are not recorded, and each
   * replay calls it again.
   */
  runAction(
    inputs: readonly Tensor[],
    action: RecordedAction,
    options?: ActionOptions,
  ): readonly (Tensor | null)[];
  /**
   * Says why the step that is being recorded cannot be replayed. The reason gets the line of the
   * user's program that is running. Does nothing if none is recorded.
   */
  refuse(reason: string): void;
  /**
   * Notes the place of the user's program that is running. Call the result only if its line is needed:
   * it returns text such as `train.ts:13`, or undefined if no line of the program was running.
   */
  here(): () => string | undefined;
}

export interface Recorded {
  /** The results of the step. */
  readonly results: readonly Tensor[];
  /** The recording, or the reason why the step cannot be replayed. */
  readonly recording: Recording | string;
  /** Whether the reason is a state of variables that may be over in the next call. */
  readonly mayPass: boolean;
}

/**
 * Whether a replay fuses native calls: `'plain'` does what plain steps do on the same device, and so
 * needs no more memory than they. `'exact'` fuses only where every bit of the results stays the same,
 * `true` also where they round in another way.
 */
export type Fusion = boolean | 'plain' | 'exact';

/** A recorded step. The owner disposes it. */
export interface Recording {
  /**
   * The first difference of `other`, a later recording of the same step, as text with the line of the
   * user's program. Undefined if they are equal.
   */
  differenceFrom(other: Recording): string | undefined;
  /** Call it before the first {@link replay} and after the last {@link differenceFrom}. */
  seal(fusion: Fusion): void;
  /**
   * Whether it seems to make the same calls as another recording, apart from numbers. Neither may be
   * replayed yet.
   */
  resembles(other: Recording): boolean;
  /**
   * Instead of {@link seal}: replays the calls of `sealed`, a recording of the same step with
   * arguments of other sizes, if the calls differ only in numbers. What differs is kept beside them.
   * Both are disposed as if they shared nothing.
   *
   * @returns The numbers that differ, in pairs: that of `sealed`, then that of this recording. NaN and
   * a number stand for what is more than a number. Undefined if the calls differ otherwise: then
   * seal or dispose this recording.
   */
  shareCallsOf(sealed: Recording, fusion: Fusion): ArrayLike<number> | undefined;
  /**
   * A report on the calls that {@link seal} fused, and on those that it did not and why, as lines
   * of text.
   */
  readonly explanation: string;
  /**
   * Whether it can be replayed with `args`, that is, whether all other tensors that the step used
   * are still alive.
   */
  fits(args: readonly Tensor[]): boolean;
  /**
   * Replays the step with new `args` of the recorded shapes and dtypes. Call it in a tidy. The
   * caller owns the results.
   *
   * @returns The error, without any changes, if calls before the first action fail. In this case
   * run the step itself, which then reports the error.
   * @throws AccError `ACC_OPERATOR_FAILED`, `ACC_OUT_OF_MEMORY`, and the errors of actions.
   */
  replay(args: readonly Tensor[]): readonly Tensor[] | Error;
  dispose(): void;
}

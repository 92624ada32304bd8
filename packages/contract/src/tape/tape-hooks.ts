import type { Tensor, Variable } from '@tensorflow/tfjs-core';

/** `forward`: an operator runs. `backward`: the gradient of its tape node is computed. */
export type TapePhase = 'forward' | 'backward';

/**
 * Lets a strategy or a plugin act before and after each operator of forward and backward passes.
 * Examples: gather a parameter before its use and release it afterwards, or store saved tensors
 * elsewhere.
 *
 * Hooks run in training steps, in predictions of prepared models, and when an activation checkpoint
 * recomputes. They run as if no gradient were computed: their operators are not on the tape and
 * call no hooks. Tensors that they make are freed when they return, unless they are kept
 * (`tf.keep`) or assigned to a variable. With several participants, `after` runs in the opposite
 * order of `before`, and only the first that packs a tensor gets it. A compiled step calls the
 * hooks again in each replay. An error in a hook ends the pass.
 */
export interface TapeHooks {
  /**
   * Called before an operator with variables runs, and before the gradient of its tape node is
   * computed. Variables are also those that share their values with an input, such as a reshaped
   * variable. For an operator within an operator, variables that the outer one also uses are left
   * out.
   */
  before?(variables: readonly Variable[], phase: TapePhase): void;
  /**
   * Called afterwards for the same variables, also if the operator has thrown. In that case errors
   * of this hook are ignored.
   */
  after?(variables: readonly Variable[], phase: TapePhase): void;
  /**
   * Called when an outermost pass has ended, also by an error: a gradient computation, a forward or
   * backward pass of `runForward`, a prediction of a prepared model. No operator is running then.
   */
  end?(): void;
  /**
   * Called when an operator is recorded on the tape, for each tensor that is saved for its
   * gradient, and for variables that an activation checkpoint uses. The result replaces the tensor,
   * whose memory is then freed. Undefined: the tensor is kept. Tensors whose values no gradient
   * reads are left out.
   *
   * @param tensor Has the values. The tape owns it.
   * @param variable The input of the operator that the values belong to, if it is a variable.
   */
  pack?(tensor: Tensor, variable: Variable | undefined): PackedTensor | undefined;
  /**
   * Whether `before`, `after` and `end` would do nothing now. They are then not called, and do not
   * divide a recorded step. Absent: they are always called.
   */
  isIdle?(): boolean;
  /**
   * Whether `before` and `after` would run no operator and change no memory for an operator with
   * these variables. A recorded step then does not repeat these two calls. Asked before `before`, and
   * only for operators that contain no others. Absent: a recorded step repeats all calls.
   */
  isInert?(variables: readonly Variable[], phase: TapePhase): boolean;
  /** A description of the hooks, for `explain` of a compiled step. */
  readonly what?: string;
}

/** The members of {@link TapeHooks}. Core rejects others. */
export const TAPE_HOOK_KEYS = ['before', 'after', 'end', 'pack', 'isIdle', 'isInert', 'what'] as const;

/** Replaces a tensor that is saved for a gradient. */
export interface PackedTensor {
  /**
   * Returns the tensor with its shape and dtype. Called at most once, before the gradient that
   * needs it. The caller disposes the result. It is not called for a variable that an activation
   * checkpoint uses, because `before` loads that value.
   */
  unpack(): Tensor;
  /** Frees the packed data. Called once, with or without a preceding `unpack`. */
  dispose(): void;
}

import type { Tensor, Variable } from '@tensorflow/tfjs-core';

/** `forward`: an operator runs. `backward`: the gradient of its tape node is computed. */
export type TapePhase = 'forward' | 'backward';

/**
 * How a strategy or a plugin takes part in forward and backward passes, operator by operator: to gather a parameter before it
 * is used and to release it afterwards, or to keep saved tensors elsewhere.
 *
 * Hooks run in training steps, in predictions of prepared models, and in what an activation checkpoint computes again. They run as
 * if no gradient were computed: their operators are not on the tape and call no hooks. Tensors that they make are freed when
 * they return, unless they are kept (`tf.keep`) or assigned to a variable. Where several take part, `after` comes in the opposite order of
 * `before`, and the first that packs a tensor has it. A compiled step calls the hooks again in each replay. What a hook throws ends the pass.
 */
export interface TapeHooks {
  /**
   * Called before an operator runs that takes variables, and before the gradient of its tape node is computed. An operator
   * within an operator is not announced for a variable that the outer one takes, too.
   */
  before?(variables: readonly Variable[], phase: TapePhase): void;
  /** Called afterwards for the same variables, also when the operator has thrown. What it throws then is dropped for that error. */
  after?(variables: readonly Variable[], phase: TapePhase): void;
  /**
   * Called when an operator is recorded on the tape, for each tensor that is saved for its gradient, and for variables that an
   * activation checkpoint takes. What is given back stands in for the tensor, whose memory is then released. Undefined: the tensor
   * stays. Tensors whose values no gradient reads are left out.
   *
   * @param tensor Has the values. It stays the tape's.
   * @param variable The input of the operator whose values these are, if it is a variable.
   */
  pack?(tensor: Tensor, variable: Variable | undefined): PackedTensor | undefined;
}

/** The members of {@link TapeHooks}; core refuses others. */
export const TAPE_HOOK_KEYS = ['before', 'after', 'pack'] as const;

/** What stands in for a tensor that is saved for a gradient. */
export interface PackedTensor {
  /**
   * Gives the tensor back, with its shape and dtype: called at most once, before the gradient that needs it. The caller disposes what is
   * given. For a variable that an activation checkpoint takes it is not called: `before` brings the value.
   */
  unpack(): Tensor;
  /** Frees what is packed; called once, after `unpack` or without it. */
  dispose(): void;
}

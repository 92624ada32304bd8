import type { Tensor } from '@tensorflow/tfjs-core';

/** A forward pass whose backward pass comes later. It keeps what the gradients need, until {@link backward} or {@link dispose}. */
export interface TapedForward {
  /** What the function gave. The caller's. */
  readonly outputs: readonly Tensor[];
  /**
   * Computes the gradients of `xs` from those of the outputs, and frees what was kept, also when it throws.
   *
   * @param dys One for each output, of its shape; null for an output that nothing depends on. They stay the caller's.
   * @returns In the order of `xs`; null for what the outputs do not depend on. The caller's.
   * @throws AccError `ACC_INVALID_ARGUMENT` for gradients that do not fit, `ACC_TAPE_USED` after `backward` or `dispose`,
   * `ACC_GRADIENT_NESTED` inside another gradient computation.
   */
  backward(dys: readonly (Tensor | null)[]): (Tensor | null)[];
  /** Frees what is kept. To be called for a pass without `backward`; harmless after it. */
  dispose(): void;
}

/**
 * Runs `f` now, as the forward pass of a training step, for a backward pass later: a stage of a pipeline. Any number of passes may
 * be in flight, and go back in any order. The gradients are this rank's own; nobody reduces or scales them.
 *
 * @param xs Tensors and variables of which gradients will be asked. They may be disposed before that.
 * @throws AccError `ACC_GRADIENT_NESTED` inside another gradient computation.
 */
export type RunForward = (f: () => Tensor | readonly Tensor[], xs: readonly Tensor[]) => TapedForward;

import type { Tensor } from '@tensorflow/tfjs-core';

/** Takes gradients that are one matrix product each, so that products are added up as they are computed. */
export interface ProductSums {
  /**
   * Gets the function that computes the gradient of `xs[index]`, which no other operator contributes
   * to. Nobody else holds what it returns.
   *
   * @returns What the backward pass returns as the gradient.
   */
  ofProduct(index: number, gradient: () => Tensor): Tensor;
}

/**
 * A forward pass whose backward pass comes later. It keeps the tensors that the gradients need,
 * until {@link backward} or {@link dispose}.
 */
export interface TapedForward {
  /** The results of the function. The caller disposes them. */
  readonly outputs: readonly Tensor[];
  /** Whether a backward pass so far has computed the gradient of a term that a layer added to the loss. */
  readonly addsTerms: boolean;
  /** @throws Error The one of tfjs, if no output depends on one of `xs`. */
  requireDependence(): void;
  /**
   * Computes the gradients of `xs` from those of the outputs. Frees the kept tensors, also if it
   * throws.
   *
   * @param dys One gradient for each output, of its shape. Null for an output that nothing depends
   * on. The caller still owns them.
   * @param lossSeed The gradient of the training's loss that `dys` come from. Layers that add terms to
   * that loss need it.
   * @param sums Computes those gradients that are products.
   * @returns Gradients in the order of `xs`. Null for an input that the outputs do not depend on.
   * The caller disposes them.
   * @throws AccError `ACC_INVALID_ARGUMENT` for gradients that do not fit, `ACC_TAPE_USED` after
   * `backward` or `dispose`, `ACC_GRADIENT_NESTED` inside another gradient computation.
   */
  backward(dys: readonly (Tensor | null)[], lossSeed?: number, sums?: ProductSums): (Tensor | null)[];
  /**
   * Computes the gradients of the first `count` of `xs` only, and keeps what those of the others
   * need, for {@link backwardRest}. A zero-bubble pipeline needs the gradients of a stage's inputs
   * earlier than those of its weights. Otherwise as {@link backward}. What an activation checkpoint
   * computes again is computed once, so the gradients within it are all computed here.
   */
  backwardTo(count: number, dys: readonly (Tensor | null)[], lossSeed?: number): (Tensor | null)[];
  /**
   * Computes the gradients of the other `xs`, in their order, after {@link backwardTo}, and frees the
   * kept tensors.
   *
   * @param sums As for {@link backward}, with positions among these `xs`.
   */
  backwardRest(sums?: ProductSums): (Tensor | null)[];
  /**
   * Frees the kept tensors. Call it for a pass without `backward`. After `backward` it has no
   * effect.
   */
  dispose(): void;
}

/**
 * Runs `f` now, as the forward pass of a training step, for a later backward pass. Example: a stage
 * of a pipeline. Any number of passes may be in flight, and their backward passes may run in any
 * order. The gradients are those of this rank; they are neither reduced nor scaled.
 *
 * @param xs Tensors and variables whose gradients will be requested. They may be disposed before
 * that.
 * @throws AccError `ACC_GRADIENT_NESTED` inside another gradient computation.
 */
export type RunForward = (
  f: () => Tensor | readonly Tensor[],
  xs: readonly Tensor[],
  options?: RunForwardOptions,
) => TapedForward;

export interface RunForwardOptions {
  /**
   * Whether layers run on meaningless data, for example to be timed. They keep no figures of such a
   * pass. Default false.
   */
  readonly isTrial?: boolean;
}

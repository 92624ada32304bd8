import type { Tensor } from '@tensorflow/tfjs-core';

export interface AttentionSettings {
  /**
   * A boolean mask, or values that are added to the scores. Broadcasts to `[batch, heads, queries,
   * keys]`.
   */
  readonly mask: Tensor | undefined;
  readonly isCausal: boolean;
  /** The probability of dropping a weight, in [0, 1). */
  readonly dropout: number;
  /** The factor of the scores. */
  readonly scale: number;
}

/** The result of attention to a block of keys. */
export interface AttentionBlock {
  /** `[batch, heads, queries, dim]`. Zero for a query that sees no key of the block. */
  readonly output: Tensor;
  /**
   * The logarithm of each query's sum of exponentials of its scores, float32 `[batch, heads,
   * queries]`; below -1e29 for a query that sees no key of the block. May have more columns, which
   * are ignored.
   */
  readonly logSums: Tensor;
  /** Further tensors that the gradient needs. */
  readonly kept: readonly Tensor[];
}

export type AttentionBlockSettings = Omit<AttentionSettings, 'dropout'>;

export interface NormSettings {
  /** Is added to the variance or to the mean square. */
  readonly epsilon: number;
  /** The number of trailing dims that are normalized. */
  readonly dims: number;
}

export interface RotarySettings {
  readonly base: number;
  /** The position of the first row. */
  readonly offset: number;
  /** Whether columns 2i and 2i + 1 form a pair. Otherwise i and i + dim/2 do. */
  readonly interleaved: boolean;
}

/**
 * The functions of `@acc/kernels` that a kernel layer may compute with its own kernels. Arguments
 * have been checked, and every setting is given. The result is on tfjs's tape with a gradient for
 * each input. The gradient either can be differentiated again or throws `ACC_NO_SECOND_GRADIENT`.
 * The caller disposes the result.
 *
 * If a function is absent or returns undefined for its inputs, tfjs's operators compute it.
 */
export interface FusedFunctions {
  /**
   * `q`, `k`, `v` are `[batch, heads, length, dim]`. The number of heads of `k` and `v` divides
   * that of `q`.
   */
  scaledDotProductAttention?(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    settings: AttentionSettings,
  ): Tensor | undefined;
  /**
   * Attention to some of the keys, which is combined with that to the others. Runs beside the tape.
   * The caller disposes the results.
   */
  attentionBlock?(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    settings: AttentionBlockSettings,
  ): AttentionBlock | undefined;
  /**
   * The gradients of q and of the keys and values of a block. `all` has the output for all keys and
   * the logarithms of the sums over all keys.
   */
  attentionBlockGradient?(
    dy: Tensor,
    qkv: readonly [q: Tensor, k: Tensor, v: Tensor],
    all: AttentionBlock,
    settings: AttentionBlockSettings,
  ): [dq: Tensor, dk: Tensor, dv: Tensor] | undefined;
  /** `gain` and `bias` have the shape of the last `dims` dims of `x`. */
  layerNorm?(
    x: Tensor,
    gain: Tensor | undefined,
    bias: Tensor | undefined,
    settings: NormSettings,
  ): Tensor | undefined;
  rmsNorm?(x: Tensor, gain: Tensor | undefined, settings: NormSettings): Tensor | undefined;
  /** `none`: uses the error function. `tanh`: uses its tanh approximation. */
  gelu?(x: Tensor, approximate: 'none' | 'tanh'): Tensor | undefined;
  /** `x` is `[..., length, dim]`. `dim` is even. */
  rotaryEmbedding?(x: Tensor, settings: RotarySettings): Tensor | undefined;
  /** `rate` is above 0 and below 1. Random numbers come from the backend's generator. */
  dropout?(x: Tensor, rate: number): Tensor | undefined;
}

export const FUSED_FUNCTIONS = [
  'scaledDotProductAttention',
  'attentionBlock',
  'attentionBlockGradient',
  'layerNorm',
  'rmsNorm',
  'gelu',
  'rotaryEmbedding',
  'dropout',
] as const satisfies readonly (keyof FusedFunctions)[];

/** Classes of tfjs-layers, by their tfjs names, whose instances a kernel layer may compute. */
export const FUSED_LAYERS = [
  'BatchNormalization',
  'Conv2D',
  'Dense',
  'Dropout',
  'GRU',
  'LayerNormalization',
  'LSTM',
] as const;

/**
 * Computes an instance of the class on `x`, its only input, which is float32 and not empty. Gives
 * the same numbers as tfjs's own `call`, in forward and gradient, except for random draws. Called
 * in a tidy. Returns undefined, with nothing changed, if tfjs's own `call` must compute.
 *
 * @param layer A layer of tfjs-layers, of exactly this class.
 * @param kwargs The arguments of tfjs's `Layer.call`, which may contain others.
 */
export type FusedLayerCall = (
  layer: object,
  x: Tensor,
  kwargs: { readonly training?: boolean | null },
) => Tensor | Tensor[] | undefined;

export type FusedLayerCalls = { readonly [Name in (typeof FUSED_LAYERS)[number]]?: FusedLayerCall };

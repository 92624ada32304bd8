import type { Tensor } from '@tensorflow/tfjs-core';

export interface AttentionSettings {
  /** Of booleans, or added to the scores; broadcasts to `[batch, heads, queries, keys]`. */
  readonly mask: Tensor | undefined;
  readonly isCausal: boolean;
  /** The chance of a weight to be dropped, in [0, 1). */
  readonly dropout: number;
  /** Factor of the scores. */
  readonly scale: number;
}

export interface NormSettings {
  /** Added to the variance, or to the mean square. */
  readonly epsilon: number;
  /** How many dims are normalised: the last ones. */
  readonly dims: number;
}

export interface RotarySettings {
  readonly base: number;
  /** Position of the first row. */
  readonly offset: number;
  /** Whether columns 2i and 2i + 1 are a pair, in place of i and i + dim/2. */
  readonly interleaved: boolean;
}

/**
 * The functions of `@acc/kernels` that a kernel layer may compute by kernels of its own. Arguments were checked, and every setting
 * is given. The result is on tfjs's tape with a gradient for each input, which can be differentiated again or refuses that with
 * `ACC_NO_SECOND_GRADIENT`. The caller disposes it.
 *
 * A function that is absent, or returns undefined for the inputs it is given, is computed in tfjs's operators.
 */
export interface FusedFunctions {
  /** `q`, `k`, `v` are `[batch, heads, length, dim]`; heads of `k` and `v` divide those of `q`. */
  scaledDotProductAttention?(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    settings: AttentionSettings,
  ): Tensor | undefined;
  /** `gain` and `bias` have the shape of the last `dims` dims of `x`. */
  layerNorm?(
    x: Tensor,
    gain: Tensor | undefined,
    bias: Tensor | undefined,
    settings: NormSettings,
  ): Tensor | undefined;
  rmsNorm?(x: Tensor, gain: Tensor | undefined, settings: NormSettings): Tensor | undefined;
  /** `none`: by the error function; `tanh`: by its approximation. */
  gelu?(x: Tensor, approximate: 'none' | 'tanh'): Tensor | undefined;
  /** `x` is `[..., length, dim]`, dim even. */
  rotaryEmbedding?(x: Tensor, settings: RotarySettings): Tensor | undefined;
  /** `rate` is above 0 and below 1. Draws from the backend's generator. */
  dropout?(x: Tensor, rate: number): Tensor | undefined;
}

export const FUSED_FUNCTIONS = [
  'scaledDotProductAttention',
  'layerNorm',
  'rmsNorm',
  'gelu',
  'rotaryEmbedding',
  'dropout',
] as const satisfies readonly (keyof FusedFunctions)[];

/** Classes of tfjs-layers, by tfjs's names, whose instances may compute by kernels of a kernel layer. */
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
 * What an instance of the class computes on `x`, which is float32, not empty, and its only input: the same numbers as tfjs's own
 * `call`, random draws aside, in forward and gradient. Called in a tidy. Undefined, with nothing changed, where tfjs's own `call`
 * must compute.
 *
 * @param layer A layer of tfjs-layers, of exactly this class.
 * @param kwargs As of tfjs's `Layer.call`, which may have others.
 */
export type FusedLayerCall = (
  layer: object,
  x: Tensor,
  kwargs: { readonly training?: boolean | null },
) => Tensor | Tensor[] | undefined;

export type FusedLayerCalls = { readonly [Name in (typeof FUSED_LAYERS)[number]]?: FusedLayerCall };

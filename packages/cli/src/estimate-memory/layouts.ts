import type { Precision } from './activations.js';
import type { ModelSizes } from './model-sizes.js';

/** `zero-…`: the stages of ZeRO; `hybrid` shards inside a host and replicates between hosts. */
export type StrategyName = 'single' | 'ddp' | 'zero-1' | 'zero-2' | 'zero-3' | 'zero-3-hybrid';

/** What a rank holds of weights, gradients and optimizer state, in bytes. */
export interface Layout {
  readonly strategy: StrategyName;
  readonly ranks: number;
  readonly parameterBytes: number;
  readonly gradientBytes: number;
  readonly optimizerBytes: number;
  /**
   * Whole units beside the shards: of gradients in stage 2, of parameters in stage 3. Null: the
   * units are not known. 0 for the other strategies.
   */
  readonly gatheredBytes: number | null;
  /** Whether units are also gathered in the forward pass. */
  readonly gathersInForward: boolean;
  /** What the optimizer's step makes and frees. */
  readonly stepBytes: number;
  /** A bucket's packed copy on its way between hosts. */
  readonly packedBytes: number;
  /**
   * Bytes for each parameter of a gradient that backward has just made. 0 where it is among the
   * gathered units.
   */
  readonly freshBytes: number;
  /** Bytes for each parameter of the copy that forward makes for backward. */
  readonly copyBytes: number;
}

/** The optimizer's float32 elements: what stays, and what a step makes and frees. */
export interface OptimizerElements {
  readonly state: number;
  readonly temporary: number;
}

/** `@acc/ddp` closes a bucket at this size. */
const BUCKET_BYTES = 25 * 1024 * 1024;

/**
 * What the packages here hold: float32 weights, gradients and state in every precision. Mixed
 * precision adds a 16-bit copy of each weight between its use in forward and in backward. On one
 * host gradients are summed in place; between hosts a bucket travels as a packed copy.
 *
 * @param isBetweenHosts Whether gradients travel between hosts.
 */
export function replicated(
  { parameters, trainable, largestTensor = 0 }: ModelSizes,
  { state, temporary }: OptimizerElements,
  precision: Precision,
  isBetweenHosts: boolean,
): Omit<Layout, 'strategy' | 'ranks'> {
  const bucket = Math.max(Math.min(BUCKET_BYTES, 4 * trainable), 4 * largestTensor);
  return {
    parameterBytes: 4 * parameters,
    gradientBytes: 4 * trainable,
    optimizerBytes: 4 * state,
    gatheredBytes: 0,
    gathersInForward: false,
    stepBytes: 4 * temporary,
    packedBytes: isBetweenHosts ? bucket : 0,
    freshBytes: 4,
    copyBytes: precision === 'float32' ? 0 : 2,
  };
}

/**
 * The stages by the formulas of Rajbhandari et al. ("ZeRO: Memory Optimizations Toward Training
 * Trillion Parameter Models", 2020, figure 1). With Ψ parameters, mixed precision takes 2Ψ for
 * weights, 2Ψ for gradients and KΨ for the optimizer: float32 weights and its state, so K = 12 for
 * Adam. Float32 takes 4Ψ, 4Ψ and the state. Stage 1 divides the optimizer's part among ranks, stage
 * 2 also the gradients, stage 3 also the weights. The two largest units exist whole beside the
 * shards: the one in use, and the next.
 *
 * @param shards The number of ranks that share.
 */
export function sharded(
  { parameters, trainable, twoLargestUnits }: ModelSizes,
  { state, temporary }: OptimizerElements,
  precision: Precision,
  { stage, shards }: { readonly stage: 1 | 2 | 3; readonly shards: number },
): Omit<Layout, 'strategy' | 'ranks'> {
  const isMixed = precision !== 'float32';
  const width = isMixed ? 2 : 4;
  const share = (bytes: number, fromStage: number) => Math.ceil(stage >= fromStage ? bytes / shards : bytes);
  return {
    parameterBytes: share(width * parameters, 3),
    gradientBytes: share(width * trainable, 2),
    optimizerBytes: share(4 * state + (isMixed ? 4 * trainable : 0), 1),
    gatheredBytes: stage === 1 ? 0 : twoLargestUnits === undefined ? null : width * twoLargestUnits,
    gathersInForward: stage === 3,
    stepBytes: share(4 * temporary, 1),
    packedBytes: 0,
    freshBytes: stage === 1 ? width : 0,
    copyBytes: 0,
  };
}

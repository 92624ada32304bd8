import type { Precision } from './activations.js';
import { largestUnits, type ModelSizes } from './model-sizes.js';

/** `zero-…`: the stages of `fsdp`; `hybrid` shards inside a host and replicates between hosts. */
export type StrategyName = 'single' | 'ddp' | 'zero-1' | 'zero-2' | 'zero-3' | 'zero-3-hybrid';

/** The bytes of weights, gradients and optimizer state on a rank. */
export interface Layout {
  readonly strategy: StrategyName;
  readonly ranks: number;
  readonly parameterBytes: number;
  readonly gradientBytes: number;
  readonly optimizerBytes: number;
  /** Whole units of weights beside the shards. Null: the units are not known. */
  readonly wholeWeightBytes: number | null;
  /** Whole units of gradients beside the shards, when the last is complete. Null: the units are not known. */
  readonly wholeGradientBytes: number | null;
  /** Gradients that are being sent while backward continues. */
  readonly travellingBytes: number | null;
  /** Tensors that the optimizer's step allocates and frees. */
  readonly stepBytes: number;
  /** A bucket's packed copy on its way between hosts. */
  readonly packedBytes: number;
  /** Bytes for each parameter of the copy that forward makes for backward. */
  readonly copyBytes: number;
}

/** The optimizer's float32 elements: what stays, and what a step makes and frees. */
export interface OptimizerElements {
  readonly state: number;
  readonly temporary: number;
  /** Whether ranks that share parameters all keep the whole state. Default false. */
  readonly isStateWhole?: boolean;
}

/** `@acc/ddp` closes a bucket at this size. */
const BUCKET_BYTES = 25 * 1024 * 1024;
/** `@acc/fsdp` joins layers to units up to this size, by stage. */
const UNIT_BYTES = { 1: 25 * 1024 * 1024, 2: 25 * 1024 * 1024, 3: 4 * 1024 * 1024 } as const;
/** The unit in use, and the next one. */
const WHOLE_WEIGHTS = 2;
/** Units of gradients on their way to shards, beside the one that backward completes. */
const TRAVELLING = 2;

/**
 * The memory of replicated parameters: float32 weights, gradients and state in every precision.
 * Mixed precision adds a 16-bit copy of each weight between its use in forward and in backward. On
 * one host gradients are summed in place; between hosts a bucket travels as a packed copy.
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
    wholeWeightBytes: 0,
    wholeGradientBytes: 0,
    travellingBytes: 0,
    stepBytes: 4 * temporary,
    packedBytes: isBetweenHosts ? bucket : 0,
    copyBytes: precision === 'float32' ? 0 : 2,
  };
}

/**
 * The memory of `@acc/fsdp`, in float32 as above. It divides the tensors as Rajbhandari et al. do
 * ("ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", 2020). Stage 1 and 2:
 * every rank has all weights, its shards among them, and its share of gradients and state; a
 * gradient is freed when its shards are summed. Stage 3: only the shards, and whole units while
 * they are used.
 *
 * @param shards The number of ranks that share.
 */
export function sharded(
  { parameters, trainable, layerSizes }: ModelSizes,
  { state, temporary, isStateWhole = false }: OptimizerElements,
  precision: Precision,
  { stage, shards }: { readonly stage: 1 | 2 | 3; readonly shards: number },
): Omit<Layout, 'strategy' | 'ranks'> {
  const share = (elements: number) => Math.ceil((4 * elements) / shards);
  const full = (count: number) =>
    layerSizes ? 4 * largestUnits(layerSizes, UNIT_BYTES[stage] / 4, count) : null;
  return {
    parameterBytes: stage === 3 ? share(parameters) : 4 * parameters,
    gradientBytes: share(trainable),
    optimizerBytes: isStateWhole ? 4 * state : share(state),
    wholeWeightBytes: stage === 3 ? full(WHOLE_WEIGHTS) : 0,
    wholeGradientBytes: full(TRAVELLING + 1),
    travellingBytes: full(TRAVELLING),
    stepBytes: share(temporary),
    packedBytes: 0,
    copyBytes: precision === 'float32' ? 0 : 2,
  };
}

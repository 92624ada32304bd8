import { operator, operatorWithResults, UNDEFINED_TENSOR, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { toDtype } from '../families/conversion.js';

/**
 * Inputs of attention: `[batch, heads, length, dim]`, all of one dtype; k and v may have fewer
 * heads.
 */
export interface AttentionInputs {
  readonly q: NativeTensor;
  readonly k: NativeTensor;
  readonly v: NativeTensor;
  /** Added to the scores; broadcasts to `[batch, heads, queries, keys]`. */
  readonly mask: NativeTensor | null;
}

export interface AttentionKernelSettings {
  readonly isCausal: boolean;
  readonly scale: number;
  /** Whether there are more keys elsewhere, so that the logarithms are combined with others. */
  readonly isPart?: boolean;
}

type Settings = AttentionKernelSettings;
type Gradients = [dq: NativeTensor, dk: NativeTensor, dv: NativeTensor];

/** A kernel, forward and backward, with memory linear in the length. */
interface AttentionCandidateRule {
  /**
   * Returns the output, and the tensors that the gradient needs besides inputs and output. Caller
   * disposes all.
   */
  forward(inputs: AttentionInputs, settings: Settings): [output: NativeTensor, saved: NativeTensor[]];
  backward(
    dy: NativeTensor,
    inputs: AttentionInputs,
    output: NativeTensor,
    saved: readonly NativeTensor[],
    settings: Settings,
  ): Gradients;
}

/** From this package's addon. Libtorch's kernels, or faster ones where the CPU has AVX-512. */
const hostForward = operatorWithResults('acc::attention');
const hostBackward = operatorWithResults('acc::attention_backward');
const flashForward = operatorWithResults('aten::_scaled_dot_product_flash_attention');
const flashBackward = operatorWithResults('aten::_scaled_dot_product_flash_attention_backward');
const efficientForward = operatorWithResults('aten::_scaled_dot_product_efficient_attention');
const efficientBackward = operatorWithResults('aten::_scaled_dot_product_efficient_attention_backward');
const choose = operatorWithResults('aten::_fused_sdp_choice');
const repeatHeads = operator('aten::repeat_interleave.self_int');
const unflatten = operator('aten::unflatten.int');
const sum = operator('aten::sum.dim_IntList');
const pad = operator('aten::constant_pad_nd');
const narrow = operator('aten::narrow');
const expand = operator('aten::expand');

const NO_DROPOUT = 0;

const host: AttentionCandidateRule = {
  forward({ q, k, v, mask }, { isCausal, scale, isPart = false }) {
    const [output, sums] = hostForward(q, k, v, isCausal, mask, scale, isPart) as NativeTensor[];
    return [output!, [sums!]];
  },
  backward: (dy, { q, k, v, mask }, output, [sums], { isCausal, scale, isPart = false }) =>
    hostBackward(dy, q, k, v, output, sums, isCausal, mask, scale, isPart) as Gradients,
};

const flash: AttentionCandidateRule = {
  forward({ q, k, v }, { isCausal, scale }) {
    const results = flashForward(q, k, v, NO_DROPOUT, isCausal, false, scale);
    const [output, sums, , , , , seed, offset, debug] = results as NativeTensor[];
    debug?.dispose();
    return [output!, [sums!, seed!, offset!]];
  },
  backward(dy, { q, k, v }, output, [sums, seed, offset], { isCausal, scale }) {
    const lengths = [q.shape[2]!, k.shape[2]!] as const;
    const starts = [UNDEFINED_TENSOR, UNDEFINED_TENSOR] as const;
    const settings = [NO_DROPOUT, isCausal, seed, offset, scale] as const;
    return flashBackward(dy, q, k, v, output, sums, ...starts, ...lengths, ...settings) as Gradients;
  },
};

/** Accepts a mask. k and v must have as many heads as q, so their heads are repeated. */
const efficient: AttentionCandidateRule = {
  forward(inputs, { isCausal, scale }) {
    const { q } = inputs;
    using k = allHeads(inputs.k, q);
    using v = allHeads(inputs.v, q);
    using bias = alignedMask(inputs);
    const results = efficientForward(q, k, v, bias, true, NO_DROPOUT, isCausal, scale);
    const [output, ...saved] = results as NativeTensor[];
    return [output!, saved];
  },
  backward(dy, inputs, output, [sums, seed, offset], { isCausal, scale }) {
    const { q } = inputs;
    using k = allHeads(inputs.k, q);
    using v = allHeads(inputs.v, q);
    using bias = alignedMask(inputs);
    const wanted = [true, true, true, false];
    const saved = [bias ?? UNDEFINED_TENSOR, output, sums, seed, offset] as const;
    const settings = [NO_DROPOUT, wanted, isCausal, scale] as const;
    const [dq, dk, dv] = efficientBackward(dy, q, k, v, ...saved, ...settings) as Gradients;
    return [dq, sumOfHeads(dk, inputs.k), sumOfHeads(dv, inputs.v)];
  },
};

const WAYS = { host, flash, efficient } satisfies Record<string, AttentionCandidateRule>;
export type AttentionCandidate = keyof typeof WAYS;

export const attentionCandidate = (name: AttentionCandidate): AttentionCandidateRule => WAYS[name];

/** The values that libtorch's `_fused_sdp_choice` returns, as `SDPBackend` in its `SDPBackend.h`. */
export const Choice = { math: 0, flash: 1, efficient: 2, cudnn: 3 } as const;

/**
 * The candidate that computes attention on `inputs` on the backend's device. Returns undefined if libtorch
 * has none.
 */
export function candidateFor(
  backend: AccBackend,
  { q, k, v, mask }: AttentionInputs,
  { isCausal, scale }: Settings,
): AttentionCandidate | undefined {
  const isGrouped = k.shape[1] !== q.shape[1];
  const [choice] = choose(q, k, v, mask, NO_DROPOUT, isCausal, scale, isGrouped);
  if (choice === Choice.math) return undefined;
  if (backend.device === 'cpu') return 'host';
  return deviceCandidate(choice as number, { q, k, v, mask }, isCausal);
}

/**
 * The candidate for a device other than the CPU, where libtorch chose something else than `math`.
 * Libtorch prefers cuDNN's kernel on recent GPUs. A GPU for which it can choose that one has the flash
 * kernel, too, which takes half the time of the efficient one, or less.
 */
export function deviceCandidate(
  choice: number,
  { q, k, v, mask }: Record<'q' | 'k' | 'v', Pick<NativeTensor, 'shape'>> & { readonly mask: unknown },
  isCausal: boolean,
): 'flash' | 'efficient' {
  const [, , queries, dim] = q.shape as [number, number, number, number];
  const fits = !mask && v.shape[3] === dim && dim % FLASH_DIM_MULTIPLE === 0 && dim <= FLASH_MOST_DIM;
  // With other lengths, the two kernels align the last query with other keys.
  const isAligned = !isCausal || queries === k.shape[2];
  const hasFlash = choice === Choice.flash || (choice === Choice.cudnn && isAligned);
  return hasFlash && fits ? 'flash' : 'efficient';
}

/** The flash kernel needs no padding when the head dim is a multiple of this many elements. */
const FLASH_DIM_MULTIPLE = 8;
const FLASH_MOST_DIM = 256;
/** The efficient kernel needs each row of the mask aligned in memory to this many elements. */
const MASK_ROW_MULTIPLE = 16;

/** Repeats each head of `x` in turn, up to the number of heads of `q`. Caller disposes. */
function allHeads(x: NativeTensor, q: NativeTensor): NativeTensor {
  const repeats = q.shape[1]! / x.shape[1]!;
  return repeats === 1 ? x.alias() : repeatHeads(x, repeats, 1);
}

/** The gradient of {@link allHeads}. Takes ownership of `grad`. Caller disposes the result. */
function sumOfHeads(grad: NativeTensor, x: NativeTensor): NativeTensor {
  const repeats = grad.shape[1]! / x.shape[1]!;
  if (repeats === 1) return grad;
  using held = grad;
  using groups = unflatten(held, 1, [x.shape[1]!, repeats]);
  return sum(groups, [2]);
}

/**
 * Casts the mask to the dtype of `q` and expands it to `[batch, heads, queries, keys]`, with rows
 * aligned in memory. Caller disposes.
 */
function alignedMask({ q, k, mask }: AttentionInputs): NativeTensor | null {
  if (!mask) return null;
  const shape = [...q.shape.slice(0, 3), k.shape[2]!];
  using converted = toDtype(mask, q.dtype);
  const keys = k.shape[2]!;
  using rows = expand(converted, [...mask.shape.slice(0, -1), keys]);
  using padded = pad(rows, [0, (MASK_ROW_MULTIPLE - (keys % MASK_ROW_MULTIPLE)) % MASK_ROW_MULTIPLE], 0);
  using aligned = narrow(padded, mask.shape.length - 1, 0, keys);
  return expand(aligned, shape);
}

import { elementsOf } from './model-sizes.js';
import { tensorsOf, type Architecture } from './architecture.js';

/** How products compute. fp16 takes the memory of bf16. */
export type Precision = 'float32' | 'bf16' | 'fp16';

/** The rows of one rank in one micro-batch. */
export interface BatchSizes {
  readonly batch: number;
  readonly sequence: number;
}

/**
 * Bytes of activations on one rank. A step has its peak at one of three moments: `loss`, `head` or
 * `mlp`.
 */
export interface Activations {
  /** Activations that each layer keeps for its gradient. */
  readonly layer: number;
  /** Activations beside those of the layers when the loss is computed. */
  readonly loss: number;
  /** The same when the gradient of the head's weights is computed. */
  readonly head: number;
  /** The same when the gradients of a layer's MLP are computed. */
  readonly mlp: number;
  /** The one-hot labels, which are kept until backward ends, and the gradient of the embedding. */
  readonly end: number;
}

/**
 * The activations of a transformer written with tfjs's operators and the fused functions of
 * `@acc/core`: pre-norm, attention that never holds the matrix of scores (Dao et al. 2022), no
 * dropout, softmax cross-entropy with one-hot labels. What a layer keeps is what Korthikanti et al.
 * ("Reducing Activation Recomputation in Large Transformer Models", 2022, section 4.1) list, less
 * what these functions do not keep.
 *
 * Letters: C hidden, I inner width of the MLP, Q and K widths of queries and of keys, H heads, V
 * vocabulary. The numbers are bytes for each token.
 */
export function activationsOf(
  architecture: Architecture,
  precision: Precision,
  { batch, sequence }: BatchSizes,
): Activations {
  const tokens = batch * sequence;
  const bytes = precision === 'float32' ? float32Bytes(architecture) : mixedBytes(architecture);
  return {
    layer: tokens * bytes.layer,
    loss: tokens * bytes.loss,
    head: tokens * bytes.head,
    mlp: tokens * bytes.mlp,
    end: tokens * bytes.end,
  };
}

function float32Bytes({ kind, hidden: C, heads: H, kvHeads, headDim, ...rest }: Architecture): Activations {
  const { intermediate: I, vocabulary: V } = rest;
  const [Q, K] = [H * headDim, kvHeads * headDim];
  // GELU: input and result. SwiGLU: gate, the other factor, and the result. The sigmoid of the gate and
  // its product with the gate wait, and backward computes them again.
  const inner = kind === 'gpt2' ? 2 * I : 3 * I;
  // Inputs and results of both norms; queries, keys, values; the result of attention; statistics of
  // the norms, and the sums of attention.
  const layer = 4 * (4 * C + 2 * Q + 2 * K + inner + 4 + H);
  return {
    layer,
    // Input and result of the last norm. Labels as whole numbers and as float32, logits, and their
    // logarithmic probabilities.
    loss: 4 * (2 * C + 4 * V),
    // Labels, the gradient of the logits, and that of the last norm's result.
    head: 4 * (3 * C + 2 * V),
    // Gradients of the layer's result and of two tensors inside the MLP. GELU's result is freed before
    // there is the second.
    mlp: 4 * (C + (kind === 'gpt2' ? 1 : 2) * I + V),
    end: 4 * (C + V),
  };
}

/**
 * Mixed precision keeps 16-bit inputs of products, and the normalised values of norms in 16 bits.
 * The stream between layers, and the loss, stay float32.
 */
function mixedBytes({ kind, hidden: C, heads: H, kvHeads, headDim, ...rest }: Architecture): Activations {
  const { intermediate: I, vocabulary: V } = rest;
  const [Q, K] = [H * headDim, kvHeads * headDim];
  const isGpt2 = kind === 'gpt2';
  // A result of a norm is converted for each product that takes it: q, k, v, gate and up of Llama.
  const normalized = isGpt2 ? 4 * C : 7 * C;
  const layer = 2 * (normalized + 2 * Q + 2 * K + (isGpt2 ? 2 * I : 5 * I)) + 4 * (2 + H);
  return {
    layer,
    // Beside float32's: the norm's 16-bit copies and the logits in 16 bits.
    loss: 12 * C + 18 * V,
    head: 6 * C + 6 * V,
    mlp: 6 * C + 4 * I + 4 * V,
    end: 4 * (C + V),
  };
}

/** Numbers of parameters of parts whose gradients exist at the moments of {@link Activations}. */
export interface Parts {
  readonly layer: number;
  /** The matrix that leads out of a layer's MLP. */
  readonly contract: number;
  readonly head: number;
  readonly embedding: number;
}

export function partsOf(architecture: Architecture): Parts {
  const { hidden, intermediate, vocabulary } = architecture;
  const count = (unit: string) =>
    tensorsOf(architecture)
      .filter((tensor) => tensor.unit === unit)
      .reduce((sum, { shape }) => sum + elementsOf(shape), 0);
  return {
    layer: count('layers.0'),
    contract: intermediate * hidden,
    head: vocabulary * hidden,
    embedding: count('embedding'),
  };
}

import type { Model } from './model.js';
import type { Plan } from './plan.js';

/** A product of matrices of the forward pass, in FLOPs of one device and micro-batch. */
export interface Products {
  /** Queries, keys and values; the projection behind attention; the matrices of the MLP. */
  readonly matrices: readonly number[];
  /** Scores and values, all of the square of the sequence. */
  readonly attention: number;
}

/**
 * The products of a layer's forward pass on a device: 2mkn for m×k and k×n.
 *
 * @param tokens Tokens of the device's micro-batch: those of its share of the sequence.
 */
export function layerProducts(model: Model, tokens: number, tensor = 1): Products {
  const { hidden, heads, headDim, kvHeads, intermediate, sequence, kind } = model;
  const queries = heads * headDim;
  const keysAndValues = 2 * headDim * kvHeads;
  const product = (width: number) => (2 * tokens * hidden * width) / tensor;
  const up = kind === 'llama' ? [intermediate, intermediate] : [intermediate];
  return {
    matrices: [queries + keysAndValues, queries, ...up, intermediate].map(product),
    attention: (4 * tokens * sequence * queries) / tensor,
  };
}

/** The entries of the vocabulary on a device: all, if `tensor` does not divide them, as `parallelize` leaves it. */
export const vocabularyOf = ({ vocabulary }: Pick<Model, 'vocabulary'>, tensor: number): number =>
  vocabulary % tensor === 0 ? vocabulary / tensor : vocabulary;

/** The product with the vocabulary, forward. */
export const headFlops = (model: Model, tokens: number, tensor = 1): number =>
  2 * tokens * model.hidden * vocabularyOf(model, tensor);

export interface StepFlops {
  /** Forward and backward of all tokens. */
  readonly model: number;
  /** With what is computed again in backward. */
  readonly hardware: number;
  readonly convention: string;
}

/**
 * FLOPs of a step on all devices, counted as Narayanan et al. do ("Efficient Large-Scale Language
 * Model Training on GPU Clusters Using Megatron-LM", SC 2021): products only, the whole square of
 * attention although half of it is masked, backward twice forward, the head without recomputation.
 * Selective recomputation is counted as one more forward of attention's two products, which is less than
 * the s/3h of Korthikanti et al. ("Reducing Activation Recomputation in Large Transformer Models", 2022).
 */
export function stepFlops(model: Model, { globalBatch, recompute, flashAttention }: Plan): StepFlops {
  const tokens = globalBatch * model.sequence;
  const { matrices, attention } = layerProducts(model, tokens);
  const layer = sum(matrices) + attention;
  const forward = model.layers * layer + headFlops(model, tokens);
  const again = { none: 0, selective: flashAttention ? 0 : attention, full: layer }[recompute];
  return {
    model: 3 * forward,
    hardware: 3 * forward + model.layers * again,
    convention:
      'products only; attention counted in full, though causal; backward twice forward; ' +
      'hardware: with recomputation, of which selective is two products of attention (not the s/3h of ' +
      "Korthikanti et al.), without that inside flash attention's kernel",
  };
}

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

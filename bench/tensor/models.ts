import { gpt2 } from '@acc/transformer';
import type { ParallelPlan } from '@acc/core';
import * as tf from '@tensorflow/tfjs';

export interface GptSizes {
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
  readonly sequence: number;
  readonly vocabulary: number;
  readonly batch: number;
}

export interface MlpSizes {
  /** Pairs of dense layers: into `inner` units, and back. */
  readonly pairs: number;
  readonly width: number;
  readonly inner: number;
  readonly batch: number;
}

export interface Case {
  readonly name: string;
  readonly gpt?: GptSizes;
  readonly mlp?: MlpSizes;
  /** Whether norms and residuals are computed on pieces of the sequence. */
  readonly sequence?: boolean;
}

/** A model with its plan, a batch and what a step exchanges. */
export interface Subject {
  readonly model: tf.LayersModel;
  readonly plan: ParallelPlan;
  readonly xs: tf.Tensor;
  readonly ys: tf.Tensor;
  loss(logits: tf.Tensor, ys: tf.Tensor): tf.Scalar;
  readonly exchanges: readonly Exchange[];
}

/** Collectives of one kind in a step, with the shape of what each rank gives. */
export interface Exchange {
  readonly verb: 'allReduce' | 'allGather' | 'reduceScatter';
  readonly count: number;
  readonly shape: readonly number[];
}

/** The plan `auto` with norms and residuals along the sequence. */
const ALONG_SEQUENCE: ParallelPlan = {
  wte: 'vocab',
  'h.*': 'sequence',
  'h.*/attn/c_attn': 'column',
  'h.*/attn/c_proj': 'row',
  'h.*/mlp/c_fc': 'column',
  'h.*/mlp/c_proj': 'row',
  ln_f: 'sequence',
};

export function createSubject(given: Case, ranks: number): Subject {
  return given.gpt ? createGpt(given.gpt, ranks, given.sequence ?? false) : createMlp(given.mlp!);
}

function createGpt(sizes: GptSizes, ranks: number, isAlongSequence: boolean): Subject {
  const { layers, width, heads, sequence, vocabulary, batch } = sizes;
  const model = gpt2({
    ...{ vocab_size: vocabulary, n_positions: sequence, n_embd: width, n_layer: layers, n_head: heads },
    ...{ resid_pdrop: 0, embd_pdrop: 0, attn_pdrop: 0 },
  });
  const ids = (seed: number) =>
    tf.tidy(() => tf.randomUniform([batch, sequence], 0, vocabulary, 'float32', seed).floor().toInt());
  return {
    model,
    plan: isAlongSequence ? ALONG_SEQUENCE : 'auto',
    xs: ids(1),
    ys: ids(2),
    loss(logits, ys) {
      const labels = tf.oneHot(ys.flatten().toInt(), vocabulary).toFloat();
      return tf.losses.softmaxCrossEntropy(labels, logits.reshape([-1, vocabulary])) as tf.Scalar;
    },
    exchanges: exchangesOf(sizes, ranks, isAlongSequence),
  };
}

/**
 * Two sums forward and two backward for each block, and those of the embedding and of the gradient
 * of the logits' input; maxima, sums and the loss of cross-entropy.
 */
function exchangesOf(
  { layers, width, sequence, batch }: GptSizes,
  ranks: number,
  isAlongSequence: boolean,
): Exchange[] {
  const tokens = batch * sequence;
  const sums = 4 * layers + 2;
  const loss: Exchange[] = [
    { verb: 'allReduce', count: 2, shape: [tokens] },
    { verb: 'allReduce', count: 1, shape: [1] },
  ];
  if (!isAlongSequence) return [{ verb: 'allReduce', count: sums, shape: [tokens, width] }, ...loss];
  return [
    { verb: 'reduceScatter', count: sums, shape: [tokens, width] },
    { verb: 'allGather', count: sums, shape: [tokens / ranks, width] },
    // The gradients of the positions and of the norms.
    { verb: 'allGather', count: 1, shape: [sequence / ranks, width] },
    { verb: 'allReduce', count: 1, shape: [(4 * layers + 2) * width] },
    ...loss,
  ];
}

function createMlp({ pairs, width, inner, batch }: MlpSizes): Subject {
  const model = tf.sequential();
  for (let i = 0; i < pairs; i++) {
    model.add(tf.layers.dense({ units: inner, activation: 'relu', inputShape: [width] }));
    model.add(tf.layers.dense({ units: width }));
  }
  const normal = (seed: number) => tf.randomNormal([batch, width], 0, 1, 'float32', seed);
  return {
    model,
    plan: 'auto',
    xs: normal(1),
    ys: normal(2),
    loss: (y, ys) => y.sub(ys).square().mean(),
    // The gradient of the input is not needed.
    exchanges: [{ verb: 'allReduce', count: 2 * pairs - 1, shape: [batch, width] }],
  };
}

import { checkpoint, gelu, layerNorm, linearCrossEntropy, scaledDotProductAttention } from '@acc/core';
import type { Rank, Scalar, Tensor, Tensor1D, Tensor2D, Tensor4D, Variable } from '@tensorflow/tfjs';
import { attentionInPlainOps, geluInPlainOps, layerNormInPlainOps } from './gpt-in-plain-ops.js';
import { randomIds, type BenchModel, type Tf } from './model.js';

export interface GptSizes {
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
  readonly sequence: number;
  readonly vocabulary: number;
  /** Whether each layer is computed again in backward. */
  readonly checkpointed?: boolean;
  /** Whether it is made of tfjs's operators alone, with the tanh form of GELU. */
  readonly plainOps?: boolean;
  /** Whether GELU has its tanh form also where it is fused. */
  readonly tanhGelu?: boolean;
  /** Whether the loss never holds the logits of all rows. */
  readonly chunkedHead?: boolean;
}

interface Norm {
  readonly gain: Variable;
  readonly bias: Variable;
}

interface Linear {
  /** `[inputs, outputs]` */
  readonly weight: Variable<Rank.R2>;
  readonly bias: Variable;
}

interface Block {
  readonly attentionNorm: Norm;
  readonly qkv: Linear;
  readonly projection: Linear;
  readonly mlpNorm: Norm;
  readonly expand: Linear;
  readonly contract: Linear;
}

/**
 * A small GPT of tfjs ops and Accelerate's fused functions, or of tfjs ops alone: learned positions,
 * pre-LN blocks, causal attention, exact GELU, untied head without bias. Letters in names are dims: B batch, T
 * sequence, C width, H heads, D width of a head, V vocabulary. Tensors stay flat, `[B·T, C]`,
 * because tfjs's matMul has no gradient for a weight that is broadcast over the batch.
 */
export function createGpt(tf: Tf, sizes: GptSizes): BenchModel {
  const { sequence: T, vocabulary: V } = sizes;
  const { variables, weights } = createWeights(tf, sizes);

  function hiddenOf(ids: Tensor): Tensor2D {
    const [B] = ids.shape as [number];
    const embed = () => tf.add(tf.gather(weights.tokens, ids.toInt()), weights.positions);
    let x = tf.tidy(() => embed().reshape([B * T, -1])) as Tensor2D;
    for (const block of weights.blocks) {
      const layer = (h: Tensor2D) => layerOf(tf, sizes, block, h);
      const before = x;
      x = sizes.checkpointed ? checkpoint(layer, [x]) : layer(x);
      before.dispose();
    }
    return normalized(tf, sizes, x, weights.finalNorm);
  }

  return {
    trainable: variables,
    variables,
    makeBatch: (batch, random) => ({
      xs: tf.tensor2d(randomIds(batch * T, V, random), [batch, T], 'int32'),
      ys: tf.tensor2d(randomIds(batch * T, V, random), [batch, T], 'int32'),
    }),
    loss: ({ xs, ys }): Scalar =>
      tf.tidy(() => {
        const labels = ys.flatten().toInt() as Tensor1D;
        const hidden = hiddenOf(xs);
        if (sizes.chunkedHead) return linearCrossEntropy(hidden, tf.transpose(weights.head), labels);
        const oneHot = tf.oneHot(labels, V).toFloat();
        return tf.losses.softmaxCrossEntropy(oneHot, tf.matMul(hidden, weights.head)) as Tensor<Rank.R0>;
      }),
  };
}

/** All weights, and a flat list of them in the order of their creation. */
function createWeights(tf: Tf, { layers, width: C, sequence: T, vocabulary: V }: GptSizes) {
  const variables: Variable[] = [];
  const keep = <R extends Rank>(value: Tensor<R>): Variable<R> => {
    const variable = tf.variable(value);
    value.dispose();
    variables.push(variable as unknown as Variable);
    return variable;
  };
  const matrix = (rows: number, columns: number) => keep(tf.randomNormal<Rank.R2>([rows, columns], 0, 0.02));
  const norm = (): Norm => ({ gain: keep(tf.ones([C])), bias: keep(tf.zeros([C])) });
  const dense = (inputs: number, outputs: number): Linear => ({
    weight: matrix(inputs, outputs),
    bias: keep(tf.zeros([outputs])),
  });
  const block = (): Block => ({
    attentionNorm: norm(),
    qkv: dense(C, 3 * C),
    projection: dense(C, C),
    mlpNorm: norm(),
    expand: dense(C, 4 * C),
    contract: dense(4 * C, C),
  });
  const weights = {
    tokens: matrix(V, C),
    positions: matrix(T, C),
    blocks: Array.from({ length: layers }, block),
    finalNorm: norm(),
    head: matrix(C, V),
  };
  return { variables, weights };
}

function layerOf(tf: Tf, sizes: GptSizes, block: Block, x: Tensor2D): Tensor2D {
  const attended = tf.tidy(() =>
    x.add<Tensor2D>(attention(tf, sizes, block, normalized(tf, sizes, x, block.attentionNorm))),
  );
  const y = tf.tidy(() =>
    attended.add<Tensor2D>(mlp(tf, sizes, block, normalized(tf, sizes, attended, block.mlpNorm))),
  );
  attended.dispose();
  return y;
}

function mlp(tf: Tf, { plainOps, tanhGelu }: GptSizes, { expand, contract }: Block, x: Tensor2D): Tensor2D {
  const hidden = linear(tf, x, expand);
  const gelued = plainOps
    ? geluInPlainOps(hidden)
    : gelu(hidden, { approximate: tanhGelu ? 'tanh' : 'none' });
  return linear(tf, gelued, contract);
}

/** `[N, inputs]` to `[N, outputs]` */
function linear(tf: Tf, x: Tensor2D, { weight, bias }: Linear): Tensor2D {
  return tf.fused.matMul({ a: x, b: weight, bias: bias as unknown as Tensor1D }) as Tensor2D;
}

/** Normalises over the last dim, with PyTorch's default epsilon. */
const normalized = (tf: Tf, { plainOps }: GptSizes, x: Tensor2D, { gain, bias }: Norm): Tensor2D =>
  plainOps ? layerNormInPlainOps(tf, x, gain, bias) : layerNorm(x, gain, bias);

/** Causal self-attention on `x_(BT)C`. */
function attention(tf: Tf, sizes: GptSizes, block: Block, x: Tensor2D): Tensor2D {
  const { width: C, heads: H, sequence: T } = sizes;
  const B = x.shape[0] / T;
  const D = C / H;
  const [q, k, v] = tf
    .split(linear(tf, x, block.qkv), 3, -1)
    .map((part) => part.reshape([B, T, H, D]).transpose<Tensor4D>([0, 2, 1, 3])) as [
    Tensor4D,
    Tensor4D,
    Tensor4D,
  ];
  const mixed_BHTD = sizes.plainOps
    ? attentionInPlainOps(tf, q, k, v)
    : scaledDotProductAttention(q, k, v, { isCausal: true });
  return linear(tf, mixed_BHTD.transpose([0, 2, 1, 3]).reshape([B * T, C]), block.projection);
}

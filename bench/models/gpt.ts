import type { Rank, Scalar, Tensor, Tensor2D, Tensor4D, Variable } from '@tensorflow/tfjs';
import { randomIds, type BenchModel, type Tf } from './model.js';

export interface GptSizes {
  readonly layers: number;
  readonly width: number;
  readonly heads: number;
  readonly sequence: number;
  readonly vocabulary: number;
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
 * A small GPT of plain tfjs ops: learned positions, pre-LN blocks, causal attention, exact GELU, untied head without
 * bias. Letters in names are dimensions: B batch, T sequence, C width, H heads, D width of a head, V vocabulary. Rows
 * stay flat, `[B·T, C]`, because tfjs's matMul has no gradient for a weight broadcast over the batch.
 */
export function createGpt(tf: Tf, sizes: GptSizes): BenchModel {
  const { sequence: T, vocabulary: V } = sizes;
  const { variables, weights } = createWeights(tf, sizes);
  const futureMask = tf.keep(
    tf.tidy(
      () =>
        tf.linalg
          .bandPart(tf.ones([T, T]), -1, 0)
          .sub(1)
          .mul(1e9) as Tensor2D,
    ),
  );

  function logitsOf(ids: Tensor): Tensor2D {
    const [B] = ids.shape as [number];
    const positions = tf.tile(weights.positions, [B, 1]);
    let x = tf.gather(weights.tokens, ids.reshape([B * T]).toInt()).add(positions) as Tensor2D;
    for (const block of weights.blocks) {
      x = x.add(attention(tf, sizes, block, layerNorm(tf, x, block.attentionNorm), futureMask));
      const hidden = linear(tf, layerNorm(tf, x, block.mlpNorm), block.expand);
      x = x.add(linear(tf, gelu(tf, hidden), block.contract));
    }
    return tf.matMul(layerNorm(tf, x, weights.finalNorm), weights.head);
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
        const oneHot = tf.oneHot(ys.flatten().toInt(), V).toFloat();
        return tf.losses.softmaxCrossEntropy(oneHot, logitsOf(xs)) as Tensor<Rank.R0>;
      }),
  };
}

/** All weights, and the flat list of them in the order in which they were made. */
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

/** `[N, inputs]` to `[N, outputs]` */
function linear(tf: Tf, x: Tensor2D, { weight, bias }: Linear): Tensor2D {
  return tf.matMul(x, weight).add(bias);
}

/** Over the last dim; epsilon as PyTorch's default. */
function layerNorm(tf: Tf, x: Tensor2D, { gain, bias }: Norm): Tensor2D {
  const { mean, variance } = tf.moments(x, -1, true);
  return x
    .sub(mean)
    .mul(tf.rsqrt(variance.add(1e-5)))
    .mul(gain)
    .add(bias);
}

/** x·Φ(x), with Φ by the error function. */
function gelu(tf: Tf, x: Tensor2D): Tensor2D {
  return tf.mul(x, tf.erf(x.mul(Math.SQRT1_2)).add(1).mul(0.5));
}

/** Causal self-attention on `x_(BT)C`; `futureMask_TT` is 0 up to the diagonal and very negative above. */
function attention(tf: Tf, sizes: GptSizes, block: Block, x: Tensor2D, futureMask: Tensor2D): Tensor2D {
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
  const scores_BHTT = tf
    .matMul(q, k, false, true)
    .mul(1 / Math.sqrt(D))
    .add(futureMask);
  const mixed_BHTD = tf.matMul(tf.softmax(scores_BHTT), v);
  return linear(tf, mixed_BHTD.transpose([0, 2, 1, 3]).reshape([B * T, C]), block.projection);
}

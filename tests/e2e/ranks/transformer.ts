// Transformers as the Hub's config.json describes them, of tfjs's operators and the fused functions of @acc/core.
import * as tf from '@tensorflow/tfjs';
import { gelu, layerNorm, rmsNorm, rotaryEmbedding, scaledDotProductAttention } from '@acc/core';

/** The keys of config.json that are read here. */
export type HubConfig =
  | {
      readonly model_type: 'gpt2';
      readonly n_layer: number;
      readonly n_embd: number;
      readonly n_head: number;
      readonly n_positions: number;
      readonly vocab_size: number;
      readonly tie_word_embeddings: boolean;
    }
  | {
      readonly model_type: 'llama';
      readonly num_hidden_layers: number;
      readonly hidden_size: number;
      readonly intermediate_size: number;
      readonly num_attention_heads: number;
      readonly num_key_value_heads: number;
      readonly max_position_embeddings: number;
      readonly vocab_size: number;
      readonly tie_word_embeddings: boolean;
    };

type Layer = (x: tf.Tensor2D, batch: number) => tf.Tensor2D;

/** Makes variables and remembers them. */
class Weights {
  readonly all: tf.Variable[] = [];

  readonly matrix = (rows: number, columns: number) =>
    this.#keep(tf.randomNormal<tf.Rank.R2>([rows, columns], 0, 0.02));
  readonly ones = (size: number) => this.#keep(tf.ones<tf.Rank.R1>([size]));
  readonly zeros = (size: number) => this.#keep(tf.zeros<tf.Rank.R1>([size]));

  #keep<R extends tf.Rank>(value: tf.Tensor<R>): tf.Variable<R> {
    const variable = tf.variable(value);
    value.dispose();
    this.all.push(variable as unknown as tf.Variable);
    return variable;
  }
}

export interface Transformer {
  readonly variables: tf.Variable[];
  /** `[batch, positions]` both. */
  loss(ids: tf.Tensor2D, targets: tf.Tensor2D): tf.Scalar;
}

export function createTransformer(config: HubConfig): Transformer {
  const weights = new Weights();
  const { embed, layers, norm, width, positions } =
    config.model_type === 'gpt2' ? gpt2Parts(config, weights) : llamaParts(config, weights);
  const V = config.vocab_size;
  const tokens = weights.matrix(V, width);
  const head = config.tie_word_embeddings ? undefined : weights.matrix(V, width);
  const loss = (ids: tf.Tensor2D, targets: tf.Tensor2D) =>
    tf.tidy(() => {
      const [batch] = ids.shape;
      let x = tf.tidy(() => embed(tf.gather(tokens, ids)).reshape<tf.Tensor2D>([batch * positions, width]));
      for (const layer of layers) {
        const before = x;
        x = tf.tidy(() => layer(before, batch));
        before.dispose();
      }
      const logits = tf.matMul(norm(x), head ?? tokens, false, true);
      const labels = tf.oneHot(targets.flatten().toInt(), V).toFloat();
      return tf.losses.softmaxCrossEntropy(labels, logits) as tf.Scalar;
    });
  return { variables: weights.all, loss };
}

interface Parts {
  readonly width: number;
  readonly positions: number;
  readonly layers: readonly Layer[];
  embed(tokens: tf.Tensor): tf.Tensor;
  norm(x: tf.Tensor2D): tf.Tensor2D;
}

const linear = (x: tf.Tensor2D, weight: tf.Variable<tf.Rank.R2>, bias: tf.Variable<tf.Rank.R1>) =>
  tf.fused.matMul({ a: x, b: weight, bias }) as tf.Tensor2D;

/** `[batch · positions, heads · dim]` to `[batch, heads, positions, dim]` */
const headsOf = (x: tf.Tensor2D, batch: number, heads: number) =>
  x.reshape([batch, x.shape[0] / batch, heads, -1]).transpose<tf.Tensor4D>([0, 2, 1, 3]);

const attend = (q: tf.Tensor4D, k: tf.Tensor4D, v: tf.Tensor4D) => {
  const [batch, heads, positions, dim] = q.shape;
  const mixed = scaledDotProductAttention(q, k, v, { isCausal: true });
  return mixed.transpose([0, 2, 1, 3]).reshape<tf.Tensor2D>([batch * positions, heads * dim]);
};

function gpt2Parts(config: HubConfig & { model_type: 'gpt2' }, { matrix, ones, zeros }: Weights): Parts {
  const { n_embd: C, n_head: heads, n_positions: positions } = config;
  const dense = (inputs: number, outputs: number) => [matrix(inputs, outputs), zeros(outputs)] as const;
  const places = matrix(positions, C);
  const layer = (): Layer => {
    const [gain1, bias1, gain2, bias2] = [ones(C), zeros(C), ones(C), zeros(C)];
    const [qkv, projection] = [dense(C, 3 * C), dense(C, C)];
    const [expand, contract] = [dense(C, 4 * C), dense(4 * C, C)];
    return (x, batch) => {
      const parts = tf.split<tf.Tensor2D>(linear(layerNorm(x, gain1, bias1), ...qkv), 3, -1);
      const [q, k, v] = parts.map((part) => headsOf(part, batch, heads));
      const y = x.add<tf.Tensor2D>(linear(attend(q!, k!, v!), ...projection));
      return y.add<tf.Tensor2D>(linear(gelu(linear(layerNorm(y, gain2, bias2), ...expand)), ...contract));
    };
  };
  const layers = Array.from({ length: config.n_layer }, layer);
  const [gain, bias] = [ones(C), zeros(C)];
  return {
    width: C,
    positions,
    layers,
    embed: (tokens) => tf.add(tokens, places),
    norm: (x) => layerNorm(x, gain, bias),
  };
}

function llamaParts(config: HubConfig & { model_type: 'llama' }, { matrix, ones }: Weights): Parts {
  const { hidden_size: C, intermediate_size: I, num_attention_heads: H, num_key_value_heads: K } = config;
  const D = C / H;
  const layer = (): Layer => {
    const [gain1, gain2] = [ones(C), ones(C)];
    const [wq, wk, wv, wo] = [matrix(C, H * D), matrix(C, K * D), matrix(C, K * D), matrix(H * D, C)];
    const [gate, up, down] = [matrix(C, I), matrix(C, I), matrix(I, C)];
    return (x, batch) => {
      const n = rmsNorm(x, gain1);
      const q = rotaryEmbedding(headsOf(tf.matMul(n, wq), batch, H));
      const k = rotaryEmbedding(headsOf(tf.matMul(n, wk), batch, K));
      const v = headsOf(tf.matMul(n, wv), batch, K);
      const y = x.add<tf.Tensor2D>(tf.matMul(attend(q, k, v), wo));
      const m = rmsNorm(y, gain2);
      const g = tf.matMul(m, gate);
      const inner = tf.mul<tf.Tensor2D>(tf.mul(g, tf.sigmoid(g)), tf.matMul(m, up));
      return y.add<tf.Tensor2D>(tf.matMul(inner, down));
    };
  };
  const layers = Array.from({ length: config.num_hidden_layers }, layer);
  const gain = ones(C);
  return {
    width: C,
    positions: config.max_position_embeddings,
    layers,
    embed: (tokens) => tokens,
    norm: (x) => rmsNorm(x, gain),
  };
}

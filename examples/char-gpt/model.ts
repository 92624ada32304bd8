import { gelu, layerNorm, rotaryEmbedding, scaledDotProductAttention } from '@acc/core';
import * as tf from '@tensorflow/tfjs';

export interface GptSizes {
  readonly vocabulary: number;
  /** The number of numbers that describe a token. A multiple of `heads`. */
  readonly width: number;
  readonly heads: number;
  readonly layers: number;
}

/**
 * A transformer that predicts the next token (Radford et al., 2018), in plain variables: attention
 * with rotary positions (Su et al., 2021), normalisation before each part, and one matrix for the
 * embedding and the output.
 */
export class Gpt {
  /** All weights, by creation. */
  readonly variables: tf.Variable[] = [];
  readonly #sizes: GptSizes;
  readonly #embedding: tf.Variable;
  readonly #blocks: ((x: tf.Tensor3D) => tf.Tensor3D)[];

  constructor(sizes: GptSizes) {
    this.#sizes = sizes;
    this.#embedding = this.#matrix('embedding', sizes.vocabulary, sizes.width);
    this.#blocks = Array.from({ length: sizes.layers }, (_, layer) => this.#block(`block${layer}`));
  }

  /**
   * @param tokens [batch, length], int32.
   * @returns The logits of each next token, [batch, length, vocabulary].
   */
  logits(tokens: tf.Tensor2D): tf.Tensor3D {
    return tf.tidy(() => {
      const embedded = tf.gather(this.#embedding, tokens) as tf.Tensor3D;
      const x = this.#blocks.reduce((value, block) => block(value), embedded);
      return times(layerNorm(x), tf.transpose(this.#embedding));
    });
  }

  #block(name: string): (x: tf.Tensor3D) => tf.Tensor3D {
    const { width } = this.#sizes;
    const intoHeads = this.#matrix(`${name}/attention/in`, width, 3 * width);
    const outOfHeads = this.#matrix(`${name}/attention/out`, width, width);
    const widen = this.#matrix(`${name}/mlp/in`, width, 4 * width);
    const narrow = this.#matrix(`${name}/mlp/out`, 4 * width, width);
    return (x) => {
      const attended = x.add<tf.Tensor3D>(times(this.#attend(times(layerNorm(x), intoHeads)), outOfHeads));
      return attended.add<tf.Tensor3D>(times(gelu(times(layerNorm(attended), widen)), narrow));
    };
  }

  /** @param x Queries, keys and values of all heads, [batch, length, 3 · width]. */
  #attend(x: tf.Tensor3D): tf.Tensor3D {
    const { heads, width } = this.#sizes;
    const [batch, length] = x.shape;
    const split = tf.transpose(tf.reshape(x, [batch, length, 3, heads, width / heads]), [2, 0, 3, 1, 4]);
    const [q, k, v] = tf.unstack(split) as [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D];
    const mixed = scaledDotProductAttention(rotaryEmbedding(q), rotaryEmbedding(k), v, { isCausal: true });
    return tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [batch, length, width]);
  }

  #matrix(name: string, rows: number, columns: number): tf.Variable {
    const variable = tf.variable(tf.randomNormal([rows, columns], 0, 1 / Math.sqrt(rows)), true, name);
    this.variables.push(variable);
    return variable;
  }
}

/** Multiplies the last dim of `x` by a matrix. */
function times(x: tf.Tensor3D, matrix: tf.Tensor): tf.Tensor3D {
  const [batch, length, width] = x.shape;
  const flat = tf.matMul(tf.reshape(x, [batch * length, width]), matrix as tf.Tensor2D);
  return tf.reshape(flat, [batch, length, matrix.shape[1]!]);
}

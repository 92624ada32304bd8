import * as tf from '@tensorflow/tfjs';
import type { LayerCases } from '../layer-case.js';

interface SelfAttentionArgs {
  readonly units: number;
}

/** A user's own layer: causal self-attention with one head, for `[batch, steps, width]`. */
export class SelfAttention extends tf.layers.Layer {
  static readonly className = 'SelfAttention';
  readonly #units: number;
  #weights!: readonly tf.LayerVariable[];

  constructor(args: SelfAttentionArgs) {
    super(args as never);
    this.#units = args.units;
  }

  override build(shape: tf.Shape): void {
    const kernel = [shape.at(-1)!, this.#units];
    this.#weights = ['query', 'key', 'value'].map((name) =>
      this.addWeight(name, kernel, 'float32', tf.initializers.glorotUniform({})),
    );
    this.built = true;
  }

  override computeOutputShape(shape: tf.Shape): tf.Shape {
    return [...shape.slice(0, -1), this.#units];
  }

  override call(inputs: tf.Tensor | tf.Tensor[]): tf.Tensor {
    return tf.tidy(() => {
      const x = Array.isArray(inputs) ? inputs[0]! : inputs;
      const [batch, steps, width] = x.shape as [number, number, number];
      const rows = tf.reshape(x, [batch * steps, width]);
      const [query, key, value] = this.#weights.map((weight) =>
        tf.reshape(tf.matMul(rows, weight.read()), [batch, steps, this.#units]),
      );
      const scores = tf.div(tf.matMul(query!, key!, false, true), Math.sqrt(this.#units));
      const past = tf.linalg.bandPart(tf.ones([steps, steps]), -1, 0);
      const allowed = tf.where(tf.cast(past, 'bool'), scores, tf.fill(scores.shape, -1e9));
      return tf.matMul(tf.softmax(allowed), value!);
    });
  }

  override getConfig(): tf.serialization.ConfigDict {
    return { ...super.getConfig(), units: this.#units };
  }
}

export const CUSTOM: LayerCases = {
  'a layer of the user’s own: attention': {
    inputs: [[5, 3]],
    make: () => new SelfAttention({ units: 4 }),
  },
  'attention in a transformer’s block': {
    inputs: [[5, 4]],
    make: (l) => [
      l.layerNormalization(),
      new SelfAttention({ units: 4 }),
      l.dense({ units: 8, activation: 'gelu' }),
      l.dense({ units: 4 }),
    ],
  },
};

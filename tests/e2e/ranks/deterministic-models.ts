// Three small models with their data. Their losses use most kinds of kernels in training.
import * as tf from '@tensorflow/tfjs';
import { gelu, layerNorm, scaledDotProductAttention } from '@acc/core';

export interface Task {
  readonly model: tf.LayersModel;
  readonly xs: tf.Tensor;
  readonly ys: tf.Tensor;
  readonly loss: (labels: tf.Tensor, logits: tf.Tensor) => tf.Tensor;
}

const CLASSES = 5;
const LENGTH = 6;
const VOCABULARY = 11;
const WIDTH = 16;
const HEADS = 2;

const initializer = (seed: number) => tf.initializers.glorotNormal({ seed });
const crossEntropy = (labels: tf.Tensor, logits: tf.Tensor) => tf.losses.softmaxCrossEntropy(labels, logits);
const classes = (rows: number) =>
  tf.tidy(() => tf.oneHot(tf.range(0, rows, 1, 'int32').mul(7).mod(CLASSES).toInt(), CLASSES).toFloat());

/** Dense layers, one of them with a regularizer, and dropout with and without a seed. */
export function mlp(rows: number): Task {
  const kernelRegularizer = tf.regularizers.l2({ l2: 0.01 });
  const model = tf.sequential({
    layers: [
      tf.layers.dense({ inputShape: [20], units: 33, activation: 'tanh', kernelInitializer: initializer(1) }),
      tf.layers.dropout({ rate: 0.25 }),
      tf.layers.dense({
        units: 17,
        activation: 'relu',
        kernelInitializer: initializer(2),
        kernelRegularizer,
      }),
      tf.layers.dropout({ rate: 0.2, seed: 5 }),
      tf.layers.gaussianNoise({ stddev: 0.1 }),
      tf.layers.dense({ units: CLASSES, kernelInitializer: initializer(3) }),
    ],
  });
  const xs = tf.tidy(() => tf.sin(tf.range(0, rows * 20)).reshape([rows, 20]));
  return { model, xs, ys: classes(rows), loss: crossEntropy };
}

/** Convolutions, batch normalisation, pooling and dropout. */
export function convnet(rows: number): Task {
  const conv = (filters: number, seed: number, inputShape?: number[]) =>
    tf.layers.conv2d({
      filters,
      kernelSize: 3,
      padding: 'same',
      kernelInitializer: initializer(seed),
      inputShape,
    });
  const model = tf.sequential({
    layers: [
      conv(6, 1, [10, 10, 3]),
      tf.layers.batchNormalization(),
      tf.layers.reLU(),
      tf.layers.maxPooling2d({ poolSize: 2 }),
      tf.layers.dropout({ rate: 0.2 }),
      conv(8, 2),
      tf.layers.batchNormalization(),
      tf.layers.activation({ activation: 'elu' }),
      tf.layers.averagePooling2d({ poolSize: 2 }),
      tf.layers.flatten(),
      tf.layers.dropout({ rate: 0.3 }),
      tf.layers.dense({ units: CLASSES, kernelInitializer: initializer(3) }),
    ],
  });
  const xs = tf.tidy(() => tf.sin(tf.range(0, rows * 300)).reshape([rows, 10, 10, 3]));
  return { model, xs, ys: classes(rows), loss: crossEntropy };
}

/** An embedding, attention with layer normalisation, and logits for each position of a sequence. */
export function transformer(rows: number): Task {
  const model = tf.sequential({
    layers: [
      tf.layers.embedding({
        inputDim: VOCABULARY,
        outputDim: WIDTH,
        inputLength: LENGTH,
        embeddingsInitializer: initializer(1),
      }),
      new Block({ name: 'block' }),
      tf.layers.layerNormalization(),
      tf.layers.dense({ units: VOCABULARY, kernelInitializer: initializer(9) }),
    ],
  });
  const tokens = tf.tidy(() =>
    tf
      .range(0, rows * LENGTH, 1, 'int32')
      .mul(3)
      .mod(VOCABULARY)
      .reshape([rows, LENGTH]),
  );
  const ys = tf.tidy(() => tf.oneHot(tokens.add(2).mod(VOCABULARY).toInt(), VOCABULARY).toFloat());
  return { model, xs: tokens, ys, loss: crossEntropy };
}

class Block extends tf.layers.Layer {
  static className = 'Block';
  readonly #names = ['query', 'key', 'value', 'out', 'wide', 'narrow'] as const;

  override build(): void {
    const shapes = [
      [WIDTH, WIDTH],
      [WIDTH, WIDTH],
      [WIDTH, WIDTH],
      [WIDTH, WIDTH],
      [WIDTH, 2 * WIDTH],
      [2 * WIDTH, WIDTH],
    ];
    shapes.forEach((shape, i) => this.addWeight(this.#names[i]!, shape, 'float32', initializer(i + 2)));
    this.addWeight('gain', [WIDTH], 'float32', tf.initializers.ones());
    this.addWeight('bias', [WIDTH], 'float32', tf.initializers.zeros());
    super.build([]);
  }

  override computeOutputShape(shape: tf.Shape): tf.Shape {
    return shape;
  }

  override call(inputs: tf.Tensor | tf.Tensor[]): tf.Tensor {
    return tf.tidy(() => {
      const x = [inputs].flat()[0] as tf.Tensor3D;
      const [query, key, value, out, wide, narrow, gain, bias] = this.weights.map((weight) => weight.read());
      const project = (from: tf.Tensor, weight: tf.Tensor) =>
        from.reshape([-1, weight.shape[0]!]).matMul(weight).reshape([-1, LENGTH, weight.shape[1]!]);
      const normed = layerNorm(x, gain, bias);
      const heads = (weight: tf.Tensor) =>
        project(normed, weight)
          .reshape([-1, LENGTH, HEADS, WIDTH / HEADS])
          .transpose<tf.Tensor4D>([0, 2, 1, 3]);
      const attended = scaledDotProductAttention(heads(query!), heads(key!), heads(value!), {
        isCausal: true,
      });
      const together = attended.transpose([0, 2, 1, 3]).reshape([-1, LENGTH, WIDTH]);
      const after = x.add(project(together, out!));
      return after.add(project(gelu(project(after, wide!)), narrow!));
    });
  }
}

/** LSTM, GRU and a simple recurrent layer, which loops over cells. */
export function recurrent(rows: number): Task {
  const model = tf.sequential({
    layers: [
      tf.layers.lstm({
        inputShape: [LENGTH, 4],
        units: 8,
        returnSequences: true,
        dropout: 0.2,
        kernelInitializer: initializer(1),
        recurrentInitializer: initializer(2),
      }),
      tf.layers.gru({
        units: 7,
        returnSequences: true,
        kernelInitializer: initializer(3),
        recurrentInitializer: initializer(4),
      }),
      tf.layers.simpleRNN({
        units: 6,
        kernelInitializer: initializer(5),
        recurrentInitializer: initializer(6),
      }),
      tf.layers.dense({ units: CLASSES, kernelInitializer: initializer(7) }),
    ],
  });
  const xs = tf.tidy(() => tf.sin(tf.range(0, rows * LENGTH * 4)).reshape([rows, LENGTH, 4]));
  return { model, xs, ys: classes(rows), loss: crossEntropy };
}

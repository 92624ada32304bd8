import * as tf from '@tensorflow/tfjs';
import { afterEach, describe, expect, it } from 'vitest';
import { Accelerator } from '@acc/core';
import { gelu, layerNorm, scaledDotProductAttention } from '@acc/kernels';
import { setSeed } from '@acc/native';
import { seededRandom } from '@acc/testkit';

let accelerator: Accelerator;
afterEach(() => accelerator.freeMemory());

/** The trained model, and its loss on one more batch. */
interface Task {
  readonly trainable: tf.LayersModel | tf.Variable[];
  loss(random: () => number): tf.Scalar;
}

const [B, T, C, H, V] = [8, 16, 32, 2, 12];

/** A GPT with two layers learns a chain in which each symbol has three successors. */
function gpt(random: () => number): Task {
  const variables: tf.Variable[] = [];
  const weight = (rows: number, columns: number) => {
    const values = Float32Array.from({ length: rows * columns }, () => 0.3 * (random() - 0.5));
    const variable = tf.variable(tf.tensor2d(values, [rows, columns]));
    variables.push(variable as unknown as tf.Variable);
    return variable as unknown as tf.Tensor2D;
  };
  const [tokens, positions] = [weight(V, C), weight(T, C)];
  const layers = [0, 1].map(() => ({
    qkv: weight(C, 3 * C),
    out: weight(C, C),
    up: weight(C, 4 * C),
    down: weight(4 * C, C),
  }));
  const head = weight(C, V);
  const successors = Array.from({ length: V }, () => [0, 1, 2].map(() => Math.floor(random() * V)));
  const next = (symbol: number, chance: number) =>
    successors[symbol]![chance < 0.6 ? 0 : chance < 0.9 ? 1 : 2]!;

  const attend = (x: tf.Tensor2D, { qkv, out }: (typeof layers)[number]) => {
    const heads = tf
      .split(tf.matMul(x, qkv), 3, 1)
      .map((part) => part.reshape([B, T, H, C / H]).transpose<tf.Tensor4D>([0, 2, 1, 3]));
    const [q, k, v] = heads as [tf.Tensor4D, tf.Tensor4D, tf.Tensor4D];
    const mixed = scaledDotProductAttention(q, k, v, { isCausal: true });
    return tf.matMul(mixed.transpose([0, 2, 1, 3]).reshape([B * T, C]), out);
  };
  return {
    trainable: variables,
    loss(draw) {
      const rows = Array.from({ length: B }, () => {
        const row = [Math.floor(draw() * V)];
        while (row.length <= T) row.push(next(row.at(-1)!, draw()));
        return row;
      });
      const ids = tf.tensor2d(rows, [B, T + 1], 'int32');
      const embedded = tf.add(tf.gather(tokens, ids.slice([0, 0], [B, T])), positions);
      let x = embedded.reshape([B * T, C]) as tf.Tensor2D;
      for (const layer of layers) {
        x = x.add(attend(layerNorm(x), layer));
        x = x.add(tf.matMul(gelu(tf.matMul(layerNorm(x), layer.up)), layer.down));
      }
      const labels = tf.oneHot(ids.slice([0, 1], [B, T]).flatten(), V);
      return tf.losses.softmaxCrossEntropy(labels, tf.matMul(layerNorm(x), head)) as tf.Scalar;
    },
  };
}

const [IMAGE, KINDS] = [10, 4];

/** A small convnet classifies noisy images, a tenth of which have a wrong label. */
function convnet(random: () => number): Task {
  const size = IMAGE ** 2;
  const kinds = Array.from({ length: KINDS }, () => Float32Array.from({ length: size }, random));
  const kernelInitializer = () => tf.initializers.glorotNormal({ seed: Math.floor(random() * 1000) });
  const model = tf.sequential({
    layers: [
      tf.layers.conv2d({
        ...{ filters: 8, kernelSize: 3, activation: 'relu', inputShape: [IMAGE, IMAGE, 1] },
        kernelInitializer: kernelInitializer(),
      }),
      tf.layers.maxPooling2d({ poolSize: 2 }),
      tf.layers.dropout({ rate: 0.1 }),
      tf.layers.flatten(),
      tf.layers.dense({ units: 16, activation: 'relu', kernelInitializer: kernelInitializer() }),
      tf.layers.dense({ units: KINDS, kernelInitializer: kernelInitializer() }),
    ],
  });
  return {
    trainable: model,
    loss(draw) {
      const pixels = new Float32Array(4 * B * size);
      const labels = Array.from({ length: 4 * B }, (_, i) => {
        const kind = Math.floor(draw() * KINDS);
        for (let k = 0; k < size; k++) pixels[i * size + k] = kinds[kind]![k]! + 2 * (draw() - 0.5);
        return draw() < 0.1 ? Math.floor(draw() * KINDS) : kind;
      });
      const logits = model.apply(tf.tensor(pixels, [4 * B, IMAGE, IMAGE, 1]), { training: true });
      return tf.losses.softmaxCrossEntropy(tf.oneHot(labels, KINDS), logits as tf.Tensor) as tf.Scalar;
    },
  };
}

const STEPS = 200;
const LAST = 100;

/** The first loss, and the mean of the last ones. */
async function train(
  make: (random: () => number) => Task,
  mixedPrecision: 'no' | 'bf16' | 'fp16',
): Promise<[first: number, last: number]> {
  accelerator = await Accelerator.create({ engine: 'acc', mixedPrecision });
  const { trainable, loss } = make(seededRandom(1));
  const [, optimizer] = accelerator.prepare(trainable, tf.train.adam(0.005));
  const draw = seededRandom(2);
  setSeed(3);
  const losses = Array.from({ length: STEPS }, () =>
    tf.tidy(() => optimizer.minimize(() => loss(draw), true)!.dataSync()[0]!),
  );
  accelerator.freeMemory();
  if (Array.isArray(trainable)) tf.dispose(trainable);
  else trainable.dispose();
  return [losses[0]!, losses.slice(-LAST).reduce((sum, value) => sum + value, 0) / LAST];
}

describe.each(Object.entries({ gpt, convnet }))('a small %s', (_, make) => {
  it('learns in bf16 and fp16 what it learns in float32, within 1 %', async () => {
    const [first, wide] = await train(make, 'no');
    expect(wide).toBeLessThan(0.7 * first);
    for (const precision of ['bf16', 'fp16'] as const) {
      const [, short] = await train(make, precision);
      expect(short).not.toBe(wide);
      expect(Math.abs(short / wide - 1), precision).toBeLessThan(0.01);
    }
  });
});

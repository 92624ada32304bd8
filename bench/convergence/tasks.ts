import type { GptSizes } from '../models/gpt.js';
import type { ConvnetSizes } from '../models/convnet.js';
import type { Sizes } from '../models/index.js';
import type { Batch, Tf } from '../models/model.js';

/**
 * Draws one batch of a task that can be learned, but not to a loss of 0. The caller disposes it.
 */
export type Draw = (batch: number, random: () => number) => Batch;

/** @throws Error for a model without a task. */
export function createTask(tf: Tf, model: string, sizes: Sizes, random: () => number): Draw {
  if (model === 'gpt') return markovChain(tf, sizes as GptSizes, random);
  if (model === 'convnet') return noisyImages(tf, sizes as ConvnetSizes, random);
  throw new Error(`There is no task for the model '${model}'. The models with a task are convnet and gpt.`);
}

/**
 * The probabilities of the successors of a symbol. Their entropy of 1.208 nats is the smallest
 * possible loss.
 */
const SUCCESSORS = [0.5, 0.25, 0.15, 0.1];

/**
 * The next symbol of a chain. Each symbol has four successors, which are the same in every batch.
 */
function markovChain(tf: Tf, { sequence: T, vocabulary: V }: GptSizes, random: () => number): Draw {
  const symbol = (draw: () => number) => Math.floor(draw() * V);
  const successors = Array.from({ length: V }, () => SUCCESSORS.map(() => symbol(random)));
  return (batch, draw) => {
    const rows = Array.from({ length: batch }, () => {
      const row = [symbol(draw)];
      while (row.length <= T) row.push(successors[row.at(-1)!]![choose(draw())]!);
      return row;
    });
    const part = (from: number) =>
      tf.tensor2d(
        rows.flatMap((row) => row.slice(from, from + T)),
        [batch, T],
        'int32',
      );
    return { xs: part(0), ys: part(1) };
  };
}

/** A position in {@link SUCCESSORS}. */
function choose(value: number): number {
  let rest = value;
  for (const [i, chance] of SUCCESSORS.entries()) {
    rest -= chance;
    if (rest < 0) return i;
  }
  return SUCCESSORS.length - 1;
}

/**
 * The amplitude of the noise, where that of an image is 1, and the share of labels that are drawn
 * at random.
 */
const NOISE = 1.5;
const WRONG_LABELS = 0.1;

/**
 * Noisy images of ten kinds, some of them with a wrong label. The smallest possible loss is about
 * 0.5.
 */
function noisyImages(tf: Tf, { image, classes }: ConvnetSizes, random: () => number): Draw {
  const size = image * image;
  const kinds = Array.from({ length: classes }, () => Float32Array.from({ length: size }, random));
  return (batch, draw) => {
    const pixels = new Float32Array(batch * size);
    const labels = new Int32Array(batch);
    for (let i = 0; i < batch; i++) {
      const kind = Math.floor(draw() * classes);
      labels[i] = draw() < WRONG_LABELS ? Math.floor(draw() * classes) : kind;
      for (let k = 0; k < size; k++) pixels[i * size + k] = kinds[kind]![k]! + NOISE * (draw() - 0.5);
    }
    const xs = tf.tensor(pixels, [batch, image, image, 1]);
    return { xs, ys: tf.tidy(() => tf.oneHot(tf.tensor1d(labels, 'int32'), classes).toFloat()) };
  };
}

// What the pages, the process and central training do alike. It gets tfjs, because a page and
// Node.js load different builds of it.
import type * as Tf from '@tensorflow/tfjs';

export const PIXELS = 28 * 28;
const CLASSES = 10;

/** The parameters of both trainings. */
export const PLAN = { rounds: 160, localSteps: 2, batchSize: 64, rate: 0.3, decayRounds: 30 } as const;

/** Digits as plain arrays: images one after another, and the digit of each. */
export interface Digits {
  readonly images: Float32Array;
  readonly labels: readonly number[];
}

export interface DigitTensors {
  readonly images: Tf.Tensor2D;
  readonly labels: Tf.Tensor2D;
  readonly count: number;
}

export function toTensors(tf: typeof Tf, { images, labels }: Digits): DigitTensors {
  return {
    images: tf.tensor2d(images, [labels.length, PIXELS]),
    labels: tf.tidy(() => tf.oneHot(tf.tensor1d([...labels], 'int32'), CLASSES).toFloat() as Tf.Tensor2D),
    count: labels.length,
  };
}

export function createModel(tf: typeof Tf, seed: number): Tf.LayersModel {
  const kernelInitializer = (offset: number) => tf.initializers.glorotNormal({ seed: seed + offset });
  return tf.sequential({
    layers: [
      tf.layers.dense({
        inputShape: [PIXELS],
        units: 32,
        activation: 'relu',
        kernelInitializer: kernelInitializer(0),
      }),
      tf.layers.dense({ units: CLASSES, kernelInitializer: kernelInitializer(1) }),
    ],
  });
}

export interface Pass {
  readonly round: number;
  readonly steps: number;
  readonly batchSize: number;
  readonly seed: number;
  /** Added to each loss: a proximal term. */
  readonly penalty?: () => Tf.Scalar;
}

/** Trains some steps of SGD in an order that the seed and the round give. @returns The last loss. */
export function trainDigits(tf: typeof Tf, model: Tf.LayersModel, data: DigitTensors, pass: Pass): number {
  const { round, steps, batchSize, seed, penalty } = pass;
  const order = shuffled(data.count, seed * 1_000 + round);
  // The rate falls, so that clients with different digits agree in the end.
  const optimizer = tf.train.sgd(PLAN.rate / (1 + round / PLAN.decayRounds));
  let last = NaN;
  for (let step = 0; step < steps; step++) {
    tf.tidy(() => {
      const rows = Array.from({ length: batchSize }, (_, i) => order[(step * batchSize + i) % data.count]!);
      const index = tf.tensor1d(rows, 'int32');
      const [x, y] = [tf.gather(data.images, index), tf.gather(data.labels, index)];
      const loss = () => {
        const own = tf.losses.softmaxCrossEntropy(y, model.apply(x) as Tf.Tensor).asScalar();
        return penalty ? tf.add<Tf.Scalar>(own, penalty()) : own;
      };
      last = optimizer.minimize(loss, true)!.dataSync()[0]!;
    });
  }
  optimizer.dispose();
  return last;
}

/** The share of digits that the model reads right. */
export function accuracyOf(tf: typeof Tf, model: Tf.LayersModel, data: DigitTensors): number {
  return tf.tidy(() => {
    const guesses = tf.argMax(model.apply(data.images) as Tf.Tensor, 1);
    return tf.mean(tf.equal(guesses, tf.argMax(data.labels, 1)).toFloat()).dataSync()[0]!;
  });
}

function shuffled(count: number, seed: number): number[] {
  let state = seed >>> 0;
  const next = () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const other = Math.floor(next() * (i + 1));
    [order[i], order[other]] = [order[other]!, order[i]!];
  }
  return order;
}

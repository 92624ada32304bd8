// A small program that runs on one process in plain tfjs and on the ranks of a job. Both must give
// the same numbers.
import * as tf from '@tensorflow/tfjs';

export const ROWS = 12;

const dense = (units: number, seed: number, more: object = {}) =>
  tf.layers.dense({ units, kernelInitializer: tf.initializers.glorotNormal({ seed }), ...more });

export function makeModel(isNormalized = false): tf.Sequential {
  const normalization = isNormalized ? [tf.layers.batchNormalization({ momentum: 0.8 })] : [];
  return tf.sequential({
    layers: [dense(5, 1, { inputShape: [4], activation: 'tanh' }), ...normalization, dense(3, 2)],
  });
}

/** The rows from `start` on of global batch `i`. */
export function batchOf(i: number, start = 0, rows = ROWS): { xs: tf.Tensor2D; ys: tf.Tensor2D } {
  return tf.tidy(() => ({
    xs: tf
      .sin(tf.add(tf.range(0, ROWS * 4), i * 7))
      .reshape([ROWS, 4])
      .slice(start, rows) as tf.Tensor2D,
    ys: tf
      .cos(tf.add(tf.range(0, ROWS * 3), i * 5))
      .reshape([ROWS, 3])
      .slice(start, rows) as tf.Tensor2D,
  }));
}

export function lossOf(model: tf.Sequential, { xs, ys }: { xs: tf.Tensor2D; ys: tf.Tensor2D }): tf.Scalar {
  return tf.losses.meanSquaredError(ys, model.apply(xs) as tf.Tensor) as tf.Scalar;
}

export const weightsOf = (model: tf.LayersModel): number[][] =>
  model.getWeights().map((weight) => [...weight.dataSync()]);

export const makeOptimizer = (kind: 'adam' | 'sgd'): tf.Optimizer =>
  kind === 'adam' ? tf.train.adam(0.02) : tf.train.sgd(0.1);

export interface PlainOptions {
  readonly optimizer?: 'adam' | 'sgd';
  readonly batches: number;
  /** Batches whose gradients are averaged for one step. Default 1. */
  readonly window?: number;
  /** The largest norm of a step's gradient. */
  readonly norm?: number;
}

/** The weights after this many global batches in plain tfjs. */
export function trainPlainly({ optimizer = 'adam', batches, window = 1, norm }: PlainOptions): number[][] {
  const model = makeModel();
  const updates = makeOptimizer(optimizer);
  for (let i = 0; i < batches; i += window) {
    tf.tidy(() => {
      const passes = Array.from({ length: window }, (_, k) => {
        const batch = batchOf(i + k);
        return tf.variableGrads(() => lossOf(model, batch)).grads;
      });
      const means = Object.keys(passes[0]!).map(
        (name) => [name, tf.addN(passes.map((grads) => grads[name]!)).div(window)] as const,
      );
      const length = tf.sqrt(tf.addN(means.map(([, grad]) => grad.square().sum()))).dataSync()[0]!;
      const factor = norm !== undefined && length > norm ? norm / length : 1;
      updates.applyGradients(Object.fromEntries(means.map(([name, grad]) => [name, grad.mul(factor)])));
    });
  }
  const weights = weightsOf(model);
  model.dispose();
  updates.dispose();
  return weights;
}

// Small models whose layers have names, and batches for them.
import * as tf from '@tensorflow/tfjs';

export const WIDTH = 6;
export const ROWS = 16;

const dense = (name: string, seed: number, more: object = {}) =>
  tf.layers.dense({
    name,
    units: WIDTH,
    activation: 'tanh',
    kernelInitializer: tf.initializers.glorotNormal({ seed }),
    ...more,
  });

/** A value that skips layers, so that it crosses several cuts, and two results that are added. */
export function skipping(ofB: object = {}): tf.LayersModel {
  const input = tf.input({ shape: [WIDTH], name: 'rows' });
  const penalized = { kernelRegularizer: tf.regularizers.l2({ l2: 0.01 }) };
  const a = dense('a', 1, penalized).apply(input) as tf.SymbolicTensor;
  const b = dense('b', 2, ofB).apply(a) as tf.SymbolicTensor;
  const c = dense('c', 3).apply(b) as tf.SymbolicTensor;
  const sum = tf.layers.add({ name: 'sum' }).apply([a, c]) as tf.SymbolicTensor;
  const d = dense('d', 4, penalized).apply(sum) as tf.SymbolicTensor;
  const e = dense('e', 5).apply([d]) as tf.SymbolicTensor;
  const both = tf.layers.concatenate({ name: 'both' }).apply([e, a]) as tf.SymbolicTensor;
  const out = dense('out', 6, { units: 2, activation: 'linear' }).apply(both) as tf.SymbolicTensor;
  return tf.model({ inputs: input, outputs: out });
}

export const SKIPPING_STAGES: Readonly<Record<number, string[][]>> = {
  2: [
    ['rows', 'a', 'b', 'c'],
    ['sum', 'd', 'e', 'both', 'out'],
  ],
  3: [
    ['a', 'b'],
    ['c', 'sum', 'd'],
    ['e', 'both', 'out'],
  ],
  4: [['a', 'b'], ['c', 'sum'], ['d'], ['e', 'both', 'out']],
  8: [['a'], ['b'], ['c'], ['sum'], ['d'], ['e'], ['both'], ['out']],
};

/** One layer is called at the beginning and at the end: its weights are used in two stages. */
export function tied(): tf.LayersModel {
  const input = tf.input({ shape: [WIDTH] });
  const shared = dense('shared', 1);
  const a = dense('a', 2).apply(shared.apply(input)) as tf.SymbolicTensor;
  const b = dense('b', 3).apply(a) as tf.SymbolicTensor;
  const again = shared.apply(b) as tf.SymbolicTensor;
  const out = dense('out', 4, { units: 2, activation: 'linear' }).apply(again) as tf.SymbolicTensor;
  return tf.model({ inputs: input, outputs: out });
}

export const xsOf = (step: number) => tf.sin(tf.range(0, ROWS * WIDTH).add(step * 50)).reshape([ROWS, WIDTH]);
export const ysOf = (step: number) => tf.cos(tf.range(0, ROWS * 2).add(step * 20)).reshape([ROWS, 2]);
export const meanSquares = (yTrue: tf.Tensor, yPred: tf.Tensor) => yTrue.sub(yPred).square().mean();

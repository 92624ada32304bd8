// Trains a plain program with cut variables in each of the given ways. Its step takes a cut
// tensor, assigns and returns others, and has batches of two sizes. Returns all numbers of each way.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, cut, type CompileOptions } from '@acc/core';
import { disposeOptimizers } from '../../dispose-optimizers.js';

export interface Way {
  readonly compile?: CompileOptions;
  /** The ranks that compile the step. Default: all. */
  readonly ranks?: readonly number[];
  /** The step before which each rank begins to call the compiled one. Default: the first. */
  readonly from?: readonly number[];
}

export interface Found {
  readonly losses: readonly number[];
  readonly weights: readonly number[][];
  /** Sums of squares that the step returns of a cut tensor, and the elements that it had. */
  readonly squares: readonly number[];
  readonly hidden: readonly number[];
  /** A cut weight that programs read between steps. */
  readonly read: readonly number[][];
  readonly replays: number;
  readonly reason: string | undefined;
  readonly explained: string;
  /** How many different numbers of tensors were left after a step. */
  readonly left: number;
}

const STEPS = 20;
const axis = 'tensor';

function wave<R extends tf.Rank>(shape: tf.ShapeMap[R], step: number): tf.Tensor<R> {
  return tf.tidy(() => {
    const count = tf.util.sizeFromShape(shape);
    return tf.reshape<R>(tf.mul(tf.sin(tf.mul(tf.range(1, 1 + count), step)), 0.5), shape);
  });
}

function weight<R extends tf.Rank>(shape: tf.ShapeMap[R], step: number): tf.Variable<R> {
  return tf.tidy(() => tf.variable(wave<R>(shape, step)) as tf.Variable<R>);
}

async function train({ compile, ranks, from = [] }: Way): Promise<Found> {
  const accelerator = await Accelerator.create({ mesh: { tensor: -1 } });
  const { processIndex } = accelerator;
  const [w1, b1] = [weight<tf.Rank.R2>([6, 12], 0.7), weight<tf.Rank.R1>([12], 0.3)];
  const [w2, b2] = [weight<tf.Rank.R2>([12, 5], 0.9), weight<tf.Rank.R1>([5], 0.4)];
  const average = tf.tidy(() => tf.variable(tf.zerosLike(w1), false));
  cut(w1, { dim: 1, axis });
  cut(average, { dim: 1, axis });
  cut(b1, { dim: -1, axis });
  cut(w2, { dim: 0, axis });
  const variables = [w1, b1, w2, b2];
  accelerator.prepare([...variables, average]);
  const optimizer = accelerator.prepare(tf.train.momentum(0.1, 0.9));
  const scale = tf.scalar(0.9);

  const plain = (x: tf.Tensor2D, y: tf.Tensor2D, before: tf.Tensor2D) => {
    const hiddenOf = () => tf.tanh(tf.add(tf.matMul(x, w1), b1)) as tf.Tensor2D;
    const loss = optimizer.minimize(
      () => tf.losses.meanSquaredError(y, tf.add(tf.matMul(hiddenOf(), w2), b2)) as tf.Scalar,
      true,
      variables,
    )!;
    average.assign(tf.add(tf.mul(average, scale), tf.mul(w1, 0.1)));
    const hidden: tf.Tensor2D = tf.mul(hiddenOf(), scale);
    return { loss, hidden, squares: tf.add(tf.sum(tf.square(hidden)), tf.sum(before)) };
  };
  const isCompiled = compile && (ranks?.includes(processIndex) ?? true);
  const compiled = isCompiled ? accelerator.compile(plain, compile) : undefined;

  const losses: number[] = [];
  const squares: number[] = [];
  const read: number[][] = [];
  const left = new Set<number>();
  const elements = (x: tf.Tensor) => Array.from(x.dataSync());
  let hidden = tf.tidy<tf.Tensor2D>(() => tf.mul(tf.matMul(wave<tf.Rank.R2>([12, 6], 0.2), w1), 1));
  for (let i = 0; i < STEPS; i++) {
    const rows = i % 4 === 3 ? 6 : 12;
    const [x, y] = [wave<tf.Rank.R2>([rows, 6], 1.1 + i), wave<tf.Rank.R2>([rows, 5], 2.3 + i)];
    const take = compiled && i >= (from[processIndex] ?? 0) ? compiled : plain;
    const given = tf.tidy(() => take(x, y, hidden));
    losses.push(elements(given.loss)[0]!);
    squares.push(elements(given.squares)[0]!);
    tf.dispose([x, y, hidden, given.loss, given.squares]);
    hidden = given.hidden;
    if (i % 5 === 2) read.push(elements(w1), elements(average));
    if (i === 9) tf.tidy(() => w1.assign(tf.mul(w1, 0.5)));
    if (i > 4) left.add(tf.memory().numTensors);
  }
  const found = {
    ...{ losses, squares, read },
    hidden: elements(hidden),
    weights: [...variables, average].map(elements),
    replays: compiled?.replays ?? 0,
    reason: compiled?.reason,
    explained: compiled?.explain() ?? '',
    left: left.size,
  };
  accelerator.freeMemory();
  disposeOptimizers(optimizer);
  tf.disposeVariables();
  tf.dispose([scale, hidden]);
  return found;
}

export default async function compiled(ways: readonly Way[]): Promise<Found[]> {
  const results: Found[] = [];
  for (const way of ways) results.push(await train(way));
  return results;
}

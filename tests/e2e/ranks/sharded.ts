// Trains one network with the strategy of the job and with a sharded one, step by step on the same
// global batches, in several ways.
import * as tf from '@tensorflow/tfjs';
import { collectiveOnTape, type CollectiveOperator } from '@acc/collective';
import type { Plugin, StrategyContext } from '@acc/contract';
import { Accelerator, checkpoint } from '@acc/core';
import { disposeOptimizers } from '../dispose-optimizers.js';
import { shardedStrategy } from './sharded-strategy.js';

export const CASES = ['clipped', 'accumulated', 'skipped', 'compiled', 'checkpointed'] as const;
export type Case = (typeof CASES)[number];

export interface Trained {
  /** The losses of this rank's rows, for each micro-batch. */
  readonly losses: number[];
  /** The whole parameters after each step. */
  readonly weights: number[][];
  readonly skipped: boolean[];
  readonly leaked: number;
  readonly replays: number;
  /**
   * Between steps: the elements that this rank keeps, and whether the variables hold no elements.
   */
  readonly keptElements: number;
  readonly isReleased: boolean;
  readonly gathers: number;
}

export interface Result {
  readonly cases: Record<Case, { readonly plain: Trained; readonly sharded: Trained }>;
  readonly throughCollectives: Record<string, number[]>;
}

const ROWS = 12;
const STEPS = 6;

async function train(kind: Case, isSharded: boolean): Promise<Trained> {
  const strategy = shardedStrategy();
  const accelerator = await Accelerator.create({
    ...(isSharded && { strategy }),
    ...(kind === 'clipped' && { gradientClipping: { norm: 0.3 } }),
    ...(kind === 'accumulated' && { gradientAccumulationSteps: 3 }),
    ...(kind === 'skipped' && { mixedPrecision: 'fp16', amp: { lossScale: { initial: 1024 } } }),
  });
  const { processIndex: rank, numProcesses: size } = accelerator;
  // Ranks start with the values of rank 0.
  const weight = (shape: number[], place: number) =>
    tf.variable(
      tf
        .sin(
          tf.range(
            0,
            shape.reduce((a, b) => a * b),
          ),
        )
        .mul(0.5 + rank)
        .reshape(shape),
      true,
      `w${place}`,
    );
  const [w1, b1, w2, b2] = [[4, 7], [7], [7, 3], [3]].map(weight) as [
    tf.Variable<tf.Rank.R2>,
    tf.Variable,
    tf.Variable<tf.Rank.R2>,
    tf.Variable,
  ];
  const weights = [w1, b1, w2, b2];
  const wrapped = <R extends tf.Tensor>(layer: (x: tf.Tensor) => R, x: tf.Tensor) =>
    kind === 'checkpointed' ? checkpoint(layer, [x]) : layer(x);
  const hidden = (x: tf.Tensor) => tf.tanh(tf.add(tf.matMul(x as tf.Tensor2D, w1), b1));
  const output = (x: tf.Tensor) => tf.add(tf.matMul(x as tf.Tensor2D, w2), b2);
  const optimizer = kind === 'accumulated' ? tf.train.momentum(0.1, 0.9) : tf.train.adam(0.02);
  accelerator.prepare(weights, optimizer);

  const batch = (step: number) => {
    const rows = ROWS / size;
    return tf
      .sin(tf.range(0, ROWS * 4).add(step * 50))
      .reshape([ROWS, 4])
      .slice(rank * rows, rows);
  };
  const lossOf = (x: tf.Tensor, isBad: boolean) => () => {
    const loss = wrapped(output, wrapped(hidden, x)).sub(1).square().mean() as tf.Scalar;
    // The very last element is in the shard of one rank only.
    return isBad ? (loss.add(b2.slice(2, 1).sum().mul(Infinity)) as tf.Scalar) : loss;
  };
  const minimize = (x: tf.Tensor, isBad = false) => optimizer.minimize(lossOf(x, isBad), true, weights)!;
  const compiled = accelerator.compile((x: tf.Tensor) => minimize(x));

  const read = () => {
    const values = isSharded ? strategy.materialize!(weights) : weights.map((each) => each.clone());
    const read = values.flatMap((value) => [...value.dataSync()]);
    tf.dispose(values);
    return read;
  };
  const losses: number[] = [];
  const skipped: boolean[] = [];
  const after: number[][] = [];
  let before = 0;
  for (let step = 0; step < STEPS; step++) {
    if (step === 3) before = tf.memory().numTensors;
    const isBad = kind === 'skipped' && step === 2;
    tf.tidy(() => {
      const x = batch(step);
      // Micro-batches have different numbers of items, which also differ between ranks.
      const weighed = () =>
        optimizer.minimize(() => accelerator.weighLoss(lossOf(x, false)(), 1 + step + rank), true, weights)!;
      const loss =
        kind === 'accumulated'
          ? accelerator.accumulate(weighed)
          : kind === 'compiled'
            ? compiled(x)
            : minimize(x, isBad);
      losses.push(loss.dataSync()[0]!);
    });
    skipped.push(accelerator.optimizerStepWasSkipped);
    after.push(read());
  }
  const trained = {
    losses,
    weights: after,
    skipped,
    leaked: tf.memory().numTensors - before,
    replays: compiled.replays,
    keptElements: isSharded ? strategy.keptElements() : 0,
    isReleased: weights.every((each) => each.dataSync().every(Number.isNaN)),
    gathers: strategy.gathers(),
  };
  accelerator.freeMemory(...weights, optimizer);
  disposeOptimizers(optimizer);
  return trained;
}

/**
 * Gradients, and gradients of gradients, through collectives of values that differ between ranks.
 */
async function throughCollectives(): Promise<Record<string, number[]>> {
  let context!: StrategyContext;
  const asks: Plugin = { name: 'asks', attach: (given) => void (context = given) };
  const accelerator = await Accelerator.create({ plugins: [asks] });
  const { processIndex: rank } = accelerator;
  const { collective, kernels } = context;
  const summed = (x: tf.Tensor) => collective.allReduce(x, 'sum');
  const gathered = (x: tf.Tensor) => collective.allGather(x);
  const scattered = (x: tf.Tensor) => collective.reduceScatter(x, 'sum');
  const ways: Record<string, CollectiveOperator> = {
    sum: { run: summed, gradient: summed },
    gather: { run: gathered, gradient: scattered },
  };
  const found: Record<string, number[]> = {};
  for (const [name, operator] of Object.entries(ways)) {
    // Rank r weights its result with r + 1.
    const loss = (x: tf.Tensor) =>
      collectiveOnTape(x, operator, kernels)
        .square()
        .sum()
        .mul(rank + 1);
    const first = (x: tf.Tensor) => tf.grad(loss)(x);
    const second = (x: tf.Tensor) => tf.grad((t) => first(t).sum())(x);
    const compiled = accelerator.compile((x: tf.Tensor) => first(x));
    tf.tidy(() => {
      const x = tf.tensor1d([rank + 1, 2]);
      found[name] = [...first(x).dataSync()];
      found[`${name} twice`] = [...second(x).dataSync()];
      for (let i = 0; i < 5; i++)
        found[`${name} compiled`] = [...compiled(x.mul(i)).dataSync(), compiled.replays];
    });
  }
  accelerator.freeMemory();
  return found;
}

export default async function sharded(): Promise<Result> {
  const cases = {} as Record<Case, { plain: Trained; sharded: Trained }>;
  for (const kind of CASES)
    cases[kind] = { plain: await train(kind, false), sharded: await train(kind, true) };
  return { cases, throughCollectives: await throughCollectives() };
}

// A mixture of experts adds terms to a loss that states its items. One rank takes the step by minimize,
// with the terms that micro-batches have; two ranks take it in stages.
import type { RankPlace } from '@acc/contract';
import { Accelerator, type PipelineOptions } from '@acc/core';
import { moe } from '@acc/transformer';
import * as tf from '@tensorflow/tfjs';
import { disposeOptimizers } from '../../dispose-optimizers.js';
import { xsOf, ysOf } from './models.js';

export interface WeighedTerms {
  readonly losses: readonly number[];
  readonly weights: readonly (readonly number[])[];
  readonly code: string | undefined;
  /** The tokens of the last micro-batch that the experts of this rank got. */
  readonly tokens: number;
}

const MICRO_BATCHES = 2;

function build(isAlone: boolean): tf.LayersModel {
  const share = isAlone ? 1 / MICRO_BATCHES : 1;
  const terms = { balanceLoss: 0.5 * share, zLoss: 0.2 * share };
  const model = tf.sequential({
    layers: [
      tf.layers.dense({ units: 6, inputShape: [6], activation: 'tanh' }),
      moe({ experts: 2, topK: 1, innerUnits: 8, ...terms }),
      tf.layers.dense({ units: 2 }),
    ],
  });
  const values = model.getWeights().map(({ shape, size }, i) =>
    tf
      .sin(tf.range(i, i + size))
      .mul(0.4)
      .reshape(shape),
  );
  model.setWeights(values);
  return model;
}

interface Way extends PipelineOptions {
  /** The rows whose loss counts. */
  readonly counted: tf.Tensor;
}

async function train({ counted, ...options }: Way, isAlone: boolean): Promise<WeighedTerms> {
  const accelerator = await Accelerator.create({ engine: 'acc', ...(!isAlone && { mesh: { pipeline: 2 } }) });
  const model = build(isAlone);
  const optimizer = tf.train.sgd(0.5);
  accelerator.prepare(model, optimizer);
  const squares = (y: tf.Tensor, prediction: tf.Tensor) => {
    const isCounted = y.slice([0, 2], [-1, 1]);
    const difference = y.slice([0, 0], [-1, 2]).sub(prediction);
    return [difference.square().mul(isCounted).sum(), isCounted.sum()] as const;
  };
  const alone = (xs: tf.Tensor, ys: tf.Tensor) =>
    optimizer.minimize(() => {
      const parts = tf.split(xs, MICRO_BATCHES).map((x, i) => {
        const prediction = model.apply(x, { training: true }) as tf.Tensor;
        return squares(tf.split(ys, MICRO_BATCHES)[i]!, prediction);
      });
      const [total, items] = [tf.addN(parts.map((part) => part[0])), tf.addN(parts.map((part) => part[1]))];
      return total.div(items).asScalar();
    }, true)!;
  const loss = (y: tf.Tensor, prediction: tf.Tensor) => {
    const [total, items] = squares(y, prediction);
    return accelerator.weighLoss(total.div(items), items);
  };
  const step = isAlone
    ? alone
    : accelerator.pipelined(model, loss, { ...options, microBatches: MICRO_BATCHES });
  const [, experts] = model.layers as unknown as [unknown, ReturnType<typeof moe>];
  const found = { losses: [] as number[], weights: [] as number[][], code: undefined as string | undefined };
  try {
    for (let i = 0; i < 5; i++) {
      const value = tf.tidy(() => step(xsOf(i), tf.concat([ysOf(i), counted], 1)).dataSync()[0]!);
      found.losses.push(value);
    }
  } catch (error) {
    found.code = (error as { code?: string }).code ?? String(error);
  }
  const state = accelerator.getStateDict(model);
  found.weights = Object.values(state).map((x) => [...x.dataSync()]);
  tf.dispose(state);
  const tokens = experts.tokensPerExpert.reduce((sum, count) => sum + count, 0);
  accelerator.freeMemory();
  disposeOptimizers(optimizer);
  model.dispose();
  return { ...found, tokens };
}

export default async function weighedTerms(
  _: unknown,
  { size }: RankPlace,
): Promise<Record<string, WeighedTerms>> {
  const isAlone = size === 1;
  // 3 of the first micro-batch, and all 8 of the second one.
  const some = tf.tensor2d([1, 1, 0, 1, 0, 0, 0, 0, ...new Array<number>(8).fill(1)], [16, 1]);
  return {
    gpipe: await train({ counted: some, schedule: 'gpipe' }, isAlone),
    '1f1b': await train({ counted: some, schedule: '1f1b' }, isAlone),
    'equal numbers': await train({ counted: tf.ones([16, 1]), schedule: '1f1b' }, isAlone),
  };
}

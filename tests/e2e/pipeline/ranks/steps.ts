// Trains small models in stages, in several ways. Alone, it trains them by minimize and fit.
import * as tf from '@tensorflow/tfjs';
import type { RankPlace } from '@acc/contract';
import { Accelerator, type AcceleratorOptions, type PipelineOptions } from '@acc/core';
import { liveTensors } from '@acc/native';
import { disposeOptimizers } from '../../dispose-optimizers.js';
import { meanSquares, ROWS, skipping, SKIPPING_STAGES, tied, xsOf, ysOf } from './models.js';

export interface Trained {
  readonly losses: number[];
  /** The whole weights, in the order of the model. */
  readonly weights: Record<string, number[]>;
  /** The elements of the optimizer's state on this rank. */
  readonly stateElements: number;
  readonly leaked: number[];
  /** The steps that were replays of a recorded one. */
  readonly replays: number;
}

export interface Args {
  /** The number of ranks with rows of their own. */
  readonly data: number;
  /** Names of ways. */
  readonly only: readonly string[];
}

const STEPS = 14;

export type Results = Record<string, Trained>;

/** How many ranks a pipeline has, and how many have rows of their own. */
interface Place {
  readonly depth: number;
  readonly data: number;
}

interface Way extends AcceleratorOptions {
  readonly model?: () => tf.LayersModel;
  readonly steps?: PipelineOptions;
  readonly isWeighed?: boolean;
  readonly isCompiled?: boolean;
  /** Default: Adam. */
  readonly optimizer?: () => tf.Optimizer;
  /** The steps before which the second layer is frozen, and trained again. */
  readonly frozen?: readonly [from: number, to: number];
}

const common = { gradientClipping: { norm: 0.5 } };
// tfjs's Adam takes the state of other weights when one is frozen.
const FROZEN: Way = { ...common, optimizer: () => tf.train.sgd(0.1), frozen: [4, 8] };
function waysOf(depth: Place['depth']): Record<string, Way> {
  const stages = SKIPPING_STAGES[Math.max(depth, 2)];
  const ways: Record<string, Way> = {
    gpipe: { ...common, steps: { schedule: 'gpipe', microBatches: 4, stages } },
    '1f1b': { ...common, steps: { microBatches: 4, stages } },
    zeroBubble: { ...common, steps: { schedule: 'zeroBubble', microBatches: 4, stages } },
    measured: { steps: { microBatches: 2 } },
    tied: { model: tied, steps: { microBatches: 4 } },
    checkpointed: { checkpointEvery: 2, steps: { schedule: 'zeroBubble', microBatches: 4, stages } },
    'checkpointed gpipe': { checkpointEvery: 8, steps: { schedule: 'gpipe', microBatches: 4, stages } },
    accumulated: { ...common, gradientAccumulationSteps: 2, steps: { microBatches: 2, stages } },
    bf16: { mixedPrecision: 'bf16', steps: { microBatches: 4, stages } },
    fp16: { ...common, mixedPrecision: 'fp16', steps: { microBatches: 4, stages } },
    weighed: { isWeighed: true, steps: { microBatches: 4, stages } },
    compiled: { ...common, isCompiled: true, steps: { microBatches: 4, stages } },
    'compiled zeroBubble': {
      ...{ ...common, isCompiled: true, checkpointEvery: 2 },
      steps: { schedule: 'zeroBubble', microBatches: 4, stages },
    },
    frozen: { ...FROZEN, steps: { microBatches: 4, stages } },
    'frozen zeroBubble': { ...FROZEN, steps: { schedule: 'zeroBubble', microBatches: 4, stages } },
    'compiled frozen': { ...FROZEN, isCompiled: true, steps: { microBatches: 4, stages } },
    // tfjs's minimize trains such a layer, and fit does not.
    'created frozen': {
      ...common,
      model: () => skipping({ trainable: false }),
      steps: { microBatches: 4, stages },
    },
    'frozen at first': { ...FROZEN, frozen: [0, 5], steps: { microBatches: 4, stages } },
    'compiled tied': { isCompiled: true, model: tied, steps: { microBatches: 4 } },
    'compiled bf16': { isCompiled: true, mixedPrecision: 'bf16', steps: { microBatches: 4, stages } },
  };
  const chunks = SKIPPING_STAGES[2 * depth];
  if (depth > 1 && chunks) {
    ways.interleaved = { ...common, steps: { schedule: 'interleaved', microBatches: 4, stages: chunks } };
    ways['compiled interleaved'] = { ...ways.interleaved, isCompiled: true };
  }
  return ways;
}

/** The elements of the optimizer's state. */
const stateElements = async (optimizer: tf.Optimizer) =>
  (await optimizer.getWeights()).reduce((sum, { tensor }) => sum + tensor.size, 0);

async function train(way: Way, isPipelined: boolean, { depth, data }: Place): Promise<Trained> {
  const {
    model: create = () => skipping(),
    steps = {},
    isWeighed = false,
    isCompiled = false,
    ...others
  } = way;
  const { optimizer: createOptimizer = () => tf.train.adam(0.01), frozen, ...options } = others;
  const accelerator = await Accelerator.create({
    engine: 'acc',
    ...options,
    ...(depth > 1 && { mesh: { pipeline: depth, data } }),
  });
  const model = create();
  const optimizer = createOptimizer();
  if (frozen?.[0] === 0) model.getLayer('b').trainable = false;
  accelerator.prepare(model, optimizer);
  const rows = ROWS / data;
  const first = rows * (accelerator.mesh.coordinates.data ?? 0);
  const ofRank = (x: tf.Tensor) => x.slice(first, rows);
  // A mean over the rows whose first value is positive, as over tokens that are not padding.
  const weighedLoss = (y: tf.Tensor, prediction: tf.Tensor) => {
    const mask = y.slice([0, 0], [-1, 1]).greater(0).cast('float32');
    const count = mask.sum();
    const total = y.sub(prediction).square().mul(mask).sum();
    return accelerator.weighLoss(total.div(count.maximum(1)), count);
  };
  const loss = isWeighed ? weighedLoss : meanSquares;
  const pipelined = isPipelined ? accelerator.pipelined(model, loss, steps) : undefined;
  const plain = (xs: tf.Tensor, ys: tf.Tensor) =>
    pipelined?.(xs, ys) ??
    optimizer.minimize(() => loss(ys, model.predict(xs) as tf.Tensor) as tf.Scalar, true)!;
  const compiled = isCompiled && isPipelined ? accelerator.compile(plain) : undefined;
  const take = compiled ?? plain;
  const losses: number[] = [];
  const counts: number[][] = [];
  for (let step = 0; step < STEPS; step++) {
    if (frozen?.includes(step)) model.getLayer('b').trainable = step === frozen[1];
    const value = tf.tidy(() => {
      const [xs, ys] = [ofRank(xsOf(step)), ofRank(ysOf(step))];
      // A step inside a window is not replayed.
      const value = compiled ? take(xs, ys) : accelerator.accumulate(() => take(xs, ys));
      return value.dataSync()[0]!;
    });
    losses.push(value);
    counts.push([tf.memory().numTensors, tf.memory().numDataBuffers, liveTensors()]);
  }
  const dict = accelerator.getStateDict(model);
  const weights = Object.fromEntries(Object.values(dict).map((x, i) => [`${i}`, [...x.dataSync()]]));
  tf.dispose(dict);
  const leaked = counts.at(-1)!.map((count, i) => count - counts[9]![i]!);
  const elements = await stateElements(optimizer);
  accelerator.freeMemory();
  disposeOptimizers(optimizer);
  tf.disposeVariables();
  return { losses, weights, stateElements: elements, leaked, replays: compiled?.replays ?? 0 };
}

export default async function steps({ data, only }: Args, { size }: RankPlace): Promise<Results> {
  const place = { depth: size / data, data };
  const ways = waysOf(place.depth);
  const results: Record<string, Trained> = {};
  for (const [name, way] of Object.entries(ways)) {
    if (only.length > 0 && !only.includes(name)) continue;
    results[name] = await train(way, size > 1, place);
  }
  if (size === 1) {
    for (const name of ['zeroBubble', 'tied', 'weighed'])
      results[`pipelined ${name}`] = await train(ways[name]!, true, place);
  }
  return results;
}

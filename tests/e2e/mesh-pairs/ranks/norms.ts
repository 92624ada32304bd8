// Trains a model with batch normalisation and frozen layers on meshes of this job's ranks, one after the
// other. Alone, it trains with as many micro-batches as a mesh has parts of a batch.
import type { RankPlace } from '@acc/contract';
import { Accelerator, type AcceleratorOptions, type PipelineOptions } from '@acc/core';
import * as tf from '@tensorflow/tfjs';

const [ROWS, WIDTH, STEPS] = [16, 6, 20];
/** Parts of a batch: the micro-batches of all ranks with rows of their own. */
const PARTS = 4;

export interface Normed {
  readonly losses: readonly number[];
  /** By the name of the weight without the number that tfjs adds. */
  readonly weights: Readonly<Record<string, readonly number[]>>;
  /** The names of weights that the last step did not change. */
  readonly unchanged: readonly string[];
  readonly left: number;
}

interface Way {
  readonly options?: AcceleratorOptions;
  readonly schedule?: PipelineOptions['schedule'];
}

const FSDP = { pipeline: 2, fsdp: 2 };
const sharded = (stage: 1 | 2 | 3): AcceleratorOptions => ({
  mesh: FSDP,
  strategy: 'fsdp',
  fsdp: { stage, bucketBytes: 256 },
});
const WAYS: Record<string, Way> = {
  'data × pipeline': { options: { mesh: { data: 2, pipeline: 2 } } },
  'pipeline × fsdp, stage 1': { options: sharded(1), schedule: 'zeroBubble' },
  'pipeline × fsdp, stage 2': { options: sharded(2) },
  'pipeline × fsdp, stage 3': { options: sharded(3) },
  'pipeline × fsdp, stage 3, without a bubble': { options: sharded(3), schedule: 'zeroBubble' },
};

const dense = (name: string, seed: number, more: object = {}) =>
  tf.layers.dense({
    ...{ name, units: WIDTH, activation: 'tanh', inputShape: [WIDTH], ...more },
    kernelInitializer: tf.initializers.glorotNormal({ seed }),
  });
const norm = (name: string) => tf.layers.batchNormalization({ name });

const STAGES = [
  ['a', 'norm1', 'b'],
  ['norm2', 'c', 'norm3', 'd'],
];
function modelOf(): tf.LayersModel {
  const model = tf.sequential({
    layers: [
      ...[dense('a', 1), norm('norm1'), dense('b', 2)],
      ...[norm('norm2'), dense('c', 3), norm('norm3'), dense('d', 4, { units: 2 })],
    ],
  });
  // A loop trains layers that are created frozen, as minimize of tfjs does.
  for (const name of ['b', 'norm3']) model.getLayer(name).trainable = false;
  return model;
}

async function train({ options, schedule }: Way): Promise<Normed> {
  const accelerator = await Accelerator.create({
    engine: 'acc',
    gradientClipping: { norm: 0.5 },
    ...options,
  });
  const model = modelOf();
  accelerator.prepare(model, tf.train.adam(0.01));
  const loss = (y: tf.Tensor, prediction: tf.Tensor) => y.sub(prediction).square().mean();
  const { coordinates } = accelerator.mesh;
  const ranks = options ? 2 : 1;
  const rows = ROWS / ranks;
  const first = rows * ((coordinates.data ?? 0) + (coordinates.fsdp ?? 0));
  const step = accelerator.pipelined(model, loss, {
    microBatches: PARTS / ranks,
    ...(options && { stages: STAGES }),
    ...(schedule && { schedule }),
  });
  const losses: number[] = [];
  const left = new Set<number>();
  let before: Normed['weights'] = {};
  for (let i = 0; i < STEPS; i++) {
    if (i === STEPS - 1) before = weightsOf(accelerator, model);
    losses.push(
      tf.tidy(() => {
        const xs = tf.sin(tf.range(0, ROWS * WIDTH).add(i * 50)).reshape([ROWS, WIDTH]);
        const ys = tf.cos(tf.range(0, ROWS * 2).add(i * 20)).reshape([ROWS, 2]);
        const value = step(xs.slice(first, rows), ys.slice(first, rows));
        return accelerator.reduce(value, 'mean').dataSync()[0]!;
      }),
    );
    if (i > 4) left.add(tf.memory().numTensors);
  }
  const weights = weightsOf(accelerator, model);
  const unchanged = Object.keys(weights).filter((name) => weights[name]!.join() === before[name]!.join());
  accelerator.freeMemory();
  tf.disposeVariables();
  return { losses, weights, unchanged, left: left.size };
}

function weightsOf(accelerator: Accelerator, model: tf.LayersModel): Normed['weights'] {
  const dict = accelerator.getStateDict(model);
  const values = Object.entries(dict).map(([name, x]) => [name.replace(/_\d+$/, ''), [...x.dataSync()]]);
  tf.dispose(dict);
  return Object.fromEntries(values) as Normed['weights'];
}

export default async function norms(_: unknown, { size }: RankPlace): Promise<Record<string, Normed>> {
  if (size === 1) return { alone: await train({}) };
  const results: Record<string, Normed> = {};
  for (const [name, way] of Object.entries(WAYS)) results[name] = await train(way);
  return results;
}

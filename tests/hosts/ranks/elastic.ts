// Trains, from what ranks have kept in memory or from the newest checkpoint if there is one, and
// prints each micro-batch. It takes as many of them as a file permits so far. Weights are those of
// any number of ranks, under fsdp up to rounding. Arguments: the kind of training, that file, the
// number of micro-batches.
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader, type AcceleratorOptions } from '@acc/core';
import { mlp } from '../../e2e/ranks/deterministic-models.js';
import { hashOfWeights, noisyLoss } from '../../e2e/ranks/deterministic-runs.js';

interface Kind {
  /** Options of fsdp. Undefined: ddp, deterministically. */
  readonly fsdp?: AcceleratorOptions['fsdp'];
  /** The number of micro-batches in a window. Default 1. */
  readonly window?: number;
  /** The number of features between the layers. Undefined: those of the model with dropout. */
  readonly width?: number;
  /** Whether the first layer is frozen. */
  readonly isFrozen?: boolean;
  /** Whether it saves checkpoints. */
  readonly saves?: boolean;
}

const [name, permitted, totalText] = process.argv.slice(2) as [ElasticKind, string, string];
const folder = dirname(permitted);
const total = Number(totalText);
const BATCH = 16;
const BATCHES = 5;

/** Under fsdp nothing is random, because each rank draws its own numbers. */
const KINDS = {
  saving: { saves: true },
  /** Its state is 4.1 MB. A frozen layer is so large that loads map its file where they may. */
  wide: { saves: true, width: 32_768, isFrozen: true },
  ddp: {},
  windows: { window: 2 },
  hybrid: { fsdp: { stage: 'HYBRID_SHARD' }, width: 33 },
  offload: {
    fsdp: {
      stage: 'HYBRID_SHARD',
      offload: { params: true, optimizer: true, to: join(folder, 'offload') },
    },
    width: 33,
    window: 2,
  },
} satisfies Record<string, Kind>;
export type ElasticKind = keyof typeof KINDS;
const { fsdp, width, window = 1, isFrozen = false, saves = false }: Kind = KINDS[name];

// Without preemption, a rank that is asked to end does not save.
const accelerator = await Accelerator.create({
  dataLoader: { splitBatches: true },
  gradientAccumulationSteps: window,
  checkpoint: { dir: join(folder, 'checkpoints'), keepLast: 2, preemption: false },
  ...(fsdp ? { strategy: 'fsdp', fsdp } : { deterministic: true }),
});
const task = mlp(BATCHES * BATCH);
const model = width === undefined ? task.model : plain(width);
const made = width === undefined ? tf.train.adam(0.001) : tf.train.momentum(0.05, 0.9);
/** Undefined: all. */
const trained = isFrozen
  ? model.layers.at(-1)!.trainableWeights.map((weight) => weight.read() as tf.Variable)
  : undefined;
const loader = new DataLoader({ xs: task.xs, ys: task.ys }, { batchSize: BATCH, shuffle: true });
const [, optimizer, data] = accelerator.prepare(model, made, loader);
const restored = await accelerator.loadState('latest', { ifPresent: true });
let at = batchesOf(restored?.step ?? 0);
const round = process.env['ACC_RESTART_COUNT'] ?? '0';
const place = `round ${round} rank ${accelerator.processIndex}/${accelerator.numProcesses}`;
console.log(`at ${at} ${place} pid ${process.pid} on ${hostname()}`);

while (at < total) {
  for await (const batch of data) {
    while (Number(readFileSync(permitted, 'utf8')) <= at) await sleep(10);
    const { xs, ys } = batch as { xs: tf.Tensor; ys: tf.Tensor };
    accelerator.accumulate(() => optimizer.minimize(() => lossOf(xs, ys), false, trained));
    // A collective between the update and the next batch: a rank may be lost there, too.
    if (!fsdp) accelerator.gatherObject([at]);
    tf.dispose(batch);
    at++;
    if (saves && at % 3 === 0) await accelerator.saveState();
    console.log(`step ${at} ${place}`);
    if (at === total) break;
  }
}
// Every rank reads, because ranks gather together.
const values = fsdp && model.getWeights().map((weight) => Array.from(weight.dataSync()));
console.log(`weights ${values ? JSON.stringify(values.flat()) : hashOfWeights(model)}`);
await accelerator.endTraining();

/** The number of micro-batches in so many steps. The last window of an epoch may be shorter. */
function batchesOf(steps: number): number {
  const perEpoch = Math.ceil(BATCHES / window);
  return Math.floor(steps / perEpoch) * BATCHES + (steps % perEpoch) * window;
}

function plain(units: number): tf.LayersModel {
  const initializer = (seed: number) => tf.initializers.glorotNormal({ seed });
  const layers = [
    tf.layers.dense({ inputShape: [20], units, activation: 'tanh', kernelInitializer: initializer(1) }),
    tf.layers.dense({ units: 5, kernelInitializer: initializer(3) }),
  ];
  return tf.sequential({ layers });
}

function lossOf(xs: tf.Tensor, ys: tf.Tensor): tf.Scalar {
  if (width === undefined) return noisyLoss(task, { xs, ys });
  return task.loss(ys, model.apply(xs) as tf.Tensor).asScalar();
}

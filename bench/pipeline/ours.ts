/**
 * Times pipelined training steps: `acc launch -n N bench/pipeline/ours.ts job.json`. The main process
 * writes the results to the job's `resultPath`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, type PipelineOptions } from '@acc/core';
import { memoryStats, resetPeakMemory } from '@acc/native';
import { observeActions, scheduleOf, type ObservedAction } from '@acc/core/pipeline';
import { bubbleOf, onHostClock } from './bubble.js';

export interface Job {
  readonly resultPath: string;
  readonly width: number;
  readonly layers: number;
  /**
   * Undefined: the first layer computes no gradients of its inputs, and the last one's results go to
   * the loss. Else the model begins and ends with small layers from and to so many features, so that
   * the large layers of all stages do the same.
   */
  readonly ends?: number;
  /** Whether steps are also timed alone, and compiled. */
  readonly isTimed: boolean;
  /** Rows of a micro-batch. */
  readonly rows: number;
  readonly cases: readonly {
    readonly schedule: NonNullable<PipelineOptions['schedule']>;
    readonly microBatches: number;
  }[];
  /** Steps that are not measured. */
  readonly warmup: number;
  readonly blocks: number;
  readonly steps: number;
}

type Take = (xs: tf.Tensor, ys: tf.Tensor) => tf.Scalar;
type Run = (take: Take, steps: number) => void;

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const results: object[] = [];
for (const { schedule, microBatches } of job.cases) {
  const accelerator = await Accelerator.create({ engine: 'acc', mesh: { pipeline: -1 } });
  const ranks = accelerator.numProcesses;
  const count = schedule === 'interleaved' ? 2 * ranks : ranks;
  const { layers, stages } = layersOf(count);
  const model = tf.sequential({ layers });
  accelerator.prepare(model, tf.train.sgd(0.001));
  const loss = (yTrue: tf.Tensor, yPred: tf.Tensor) => yTrue.sub(yPred).square().mean();
  const step = accelerator.pipelined(model, loss, { schedule, microBatches, stages });
  const batch = [job.rows * microBatches, job.ends ?? job.width];
  const [xs, ys] = [tf.randomNormal(batch, 0, 1, 'float32', 1), tf.randomNormal(batch, 0, 1, 'float32', 2)];
  const run: Run = (take, steps) => {
    for (let i = 0; i < steps; i++) take(xs, ys).dispose();
  };
  run(step, job.warmup);
  const table = scheduleOf(schedule, { ranks, chunks: count / ranks, microBatches });
  const timed = job.isTimed ? timesOf(accelerator, step, run) : {};
  const bubbles = Array.from({ length: job.blocks * job.steps }, () => {
    let actions: readonly ObservedAction[] = [];
    observeActions((observed) => {
      actions = observed;
    });
    accelerator.waitForEveryone();
    const start = performance.now();
    step(xs, ys).dispose();
    const end = performance.now();
    observeActions(undefined);
    return bubbleOf(table, accelerator.gatherObject([onHostClock({ start, end, actions })]));
  });
  results.push({ schedule, microBatches, bubbles, ...timed });
  accelerator.freeMemory();
  tf.dispose([xs, ys]);
  tf.disposeVariables();
}
if (process.env.RANK === '0' || process.env.RANK === undefined)
  writeFileSync(job.resultPath, JSON.stringify({ results, versions: { node: process.versions.node } }));

function layersOf(count: number) {
  const { width, ends } = job;
  const dense = (name: string, from: number, to: number) =>
    tf.layers.dense({ name, units: to, activation: 'relu', inputShape: [from] });
  const large = Array.from({ length: job.layers }, (_, i) => dense(`layer${i}`, width, width));
  const [first, last] = ends ? [[dense('first', ends, width)], [dense('last', width, ends)]] : [[], []];
  const each = job.layers / count;
  const stages = Array.from({ length: count }, (_, i) => [
    ...(i === 0 ? first : []),
    ...large.slice(i * each, (i + 1) * each),
    ...(i === count - 1 ? last : []),
  ]);
  return { layers: stages.flat(), stages: stages.map((stage) => stage.map(({ name }) => name)) };
}

/** The times of plain and compiled steps, and their memory. */
function timesOf(accelerator: Accelerator, step: Take, run: Run) {
  const time = (take: Take) =>
    Array.from({ length: job.blocks }, () => {
      accelerator.waitForEveryone();
      const start = performance.now();
      run(take, job.steps);
      accelerator.waitForEveryone();
      return (performance.now() - start) / job.steps;
    });
  const peak = () => Math.max(...accelerator.gatherObject([memoryStats().peakAllocatedBytes]));
  resetPeakMemory();
  const stepMs = time(step);
  const peakBytes = peak();
  const compiled = accelerator.compile(step);
  run(compiled, 10);
  resetPeakMemory();
  const compiledMs = time(compiled);
  if (compiled.reason) throw new Error(`The step is not replayed: ${compiled.reason}`);
  return { stepMs, compiledMs, peakBytes, compiledPeakBytes: peak() };
}

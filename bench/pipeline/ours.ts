/**
 * Times pipelined training steps: `acc launch -n N bench/pipeline/ours.ts job.json`. The main process
 * writes the results to the job's `resultPath`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, type PipelineOptions } from '@acc/core';
import { memoryStats, resetPeakMemory } from '@acc/native';
import { observeActions, scheduleOf, type ObservedAction } from '@acc/pipeline';
import { bubbleOf, onHostClock } from './bubble.js';

export interface Job {
  readonly resultPath: string;
  readonly width: number;
  readonly layers: number;
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

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const results: object[] = [];
for (const { schedule, microBatches } of job.cases) {
  const accelerator = await Accelerator.create({ engine: 'acc', mesh: { pipeline: -1 } });
  const ranks = accelerator.numProcesses;
  const layers = Array.from({ length: job.layers }, (_, i) =>
    tf.layers.dense({ name: `layer${i}`, units: job.width, activation: 'relu', inputShape: [job.width] }),
  );
  const model = tf.sequential({ layers });
  accelerator.prepare(model, tf.train.sgd(0.001));
  const count = schedule === 'interleaved' ? 2 * ranks : ranks;
  const names = layers.map(({ name }) => name);
  const each = job.layers / count;
  const stages = Array.from({ length: count }, (_, i) => names.slice(i * each, (i + 1) * each));
  const loss = (yTrue: tf.Tensor, yPred: tf.Tensor) => yTrue.sub(yPred).square().mean();
  const step = accelerator.pipelined(model, loss, { schedule, microBatches, stages });
  const batch = [job.rows * microBatches, job.width];
  const [xs, ys] = [tf.randomNormal(batch, 0, 1, 'float32', 1), tf.randomNormal(batch, 0, 1, 'float32', 2)];
  const run = (take: typeof step, steps: number) => {
    for (let i = 0; i < steps; i++) take(xs, ys).dispose();
  };
  const time = (take: typeof step) =>
    Array.from({ length: job.blocks }, () => {
      accelerator.waitForEveryone();
      const start = performance.now();
      run(take, job.steps);
      accelerator.waitForEveryone();
      return (performance.now() - start) / job.steps;
    });
  run(step, job.warmup);
  resetPeakMemory();
  const stepMs = time(step);
  const peaks = accelerator.gatherObject([memoryStats().peakAllocatedBytes]);
  const table = scheduleOf(schedule, { ranks, chunks: count / ranks, microBatches });
  const bubbles = Array.from({ length: job.blocks * job.steps }, () => {
    let observed: ObservedAction[] = [];
    observeActions((actions) => {
      observed = onHostClock(actions);
    });
    accelerator.waitForEveryone();
    step(xs, ys).dispose();
    observeActions(undefined);
    return bubbleOf(table, accelerator.gatherObject([observed]));
  });
  const compiled = accelerator.compile(step);
  run(compiled, 10);
  resetPeakMemory();
  const compiledMs = time(compiled);
  if (compiled.reason) throw new Error(`The step is not replayed: ${compiled.reason}`);
  const compiledPeaks = accelerator.gatherObject([memoryStats().peakAllocatedBytes]);
  results.push({
    ...{ schedule, microBatches, stepMs, compiledMs, bubbles },
    ...{ peakBytes: Math.max(...peaks), compiledPeakBytes: Math.max(...compiledPeaks) },
  });
  accelerator.freeMemory();
  tf.dispose([xs, ys]);
  tf.disposeVariables();
}
if (process.env.RANK === '0' || process.env.RANK === undefined)
  writeFileSync(job.resultPath, JSON.stringify({ results, versions: { node: process.versions.node } }));

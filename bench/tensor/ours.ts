/**
 * Times training steps of models that ranks compute together, and their exchanges alone: `acc launch
 * -n N bench/tensor/ours.ts job.json`. The main process writes the results to the job's `resultPath`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import type { meshOf } from '@acc/collective';
import { Accelerator, parallelize, setSeed } from '@acc/core';
import * as tf from '@tensorflow/tfjs';
import { versions } from '../training.js';
import { createSubject, type Case, type Exchange } from './models.js';

interface Job {
  readonly cases: readonly Case[];
  readonly warmupSteps: number;
  readonly steps: number;
  readonly blocks: number;
  readonly resultPath: string;
}

/** A step is plain once, recorded twice, and replayed from then on. */
const WARMUP_REPLAYS = 8;

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const results: object[] = [];
let isMainProcess = true;
for (const given of job.cases) {
  const accelerator = await Accelerator.create({ engine: 'acc', mesh: { tensor: -1 }, seed: 1 });
  ({ isMainProcess } = accelerator);
  // The same weights on any number of ranks.
  setSeed(1);
  results.push({ name: given.name, ...measure(given, accelerator) });
  accelerator.freeMemory();
  tf.disposeVariables();
}
if (isMainProcess) writeFileSync(job.resultPath, JSON.stringify({ results, versions: versions() }));

function measure(given: Case, accelerator: Accelerator): object {
  const { model, plan, xs, ys, loss, exchanges } = createSubject(given, accelerator.numProcesses);
  const [, optimizer] = accelerator.prepare(parallelize(model, plan), tf.train.adam(1e-3));
  const step = (x: tf.Tensor, y: tf.Tensor) =>
    optimizer.minimize(() => loss(model.apply(x, { training: true }) as tf.Tensor, y), true)!;
  const repeated = (take: typeof step) => (steps: number) => runSteps(steps, () => take(xs, ys));
  const compiled = accelerator.compile(step);
  const fused = accelerator.compile(step, { fuse: true });
  const [run, replay, replayFused] = [step, compiled, fused].map(repeated) as [Run, Run, Run];
  const firstLoss = run(1);
  // Prepared weights were exchanged, too.
  accelerator.communication();
  run(1);
  requireExchanges(accelerator, exchanges);
  run(job.warmupSteps);
  for (const warmUp of [replay, replayFused]) warmUp(WARMUP_REPLAYS);
  const plain = measureRun(accelerator, run);
  const compiledRun = measureRun(accelerator, replay);
  const fusedRun = measureRun(accelerator, replayFused);
  for (const { reason } of [compiled, fused]) if (reason !== undefined) throw new Error(reason);
  const repeat = repeaterOf(accelerator, exchanges);
  repeat(job.warmupSteps);
  const exchangeMs = timeBlocks(accelerator, job.steps, repeat);
  tf.dispose([xs, ys]);
  return { plain, compiled: compiledRun, fused: fusedRun, exchangeMs, firstLoss };
}

type Run = (steps: number) => number;

/** Returns the last loss. */
function runSteps(steps: number, take: () => tf.Scalar): number {
  let last = 0;
  for (let step = 1; step <= steps; step++) {
    const value = take();
    if (step === steps) last = value.dataSync()[0]!;
    value.dispose();
  }
  return last;
}

function measureRun(accelerator: Accelerator, run: Run): { stepMs: number[]; peakBytes: number } {
  run(1);
  accelerator.resetPeakMemory();
  const stepMs = timeBlocks(accelerator, job.steps, run);
  const { peakAllocatedBytes: peakBytes } = tf.memory() as unknown as { peakAllocatedBytes: number };
  return { stepMs, peakBytes };
}

/** The time of a step in each block, in ms. */
function timeBlocks(accelerator: Accelerator, steps: number, run: (steps: number) => unknown): number[] {
  return Array.from({ length: job.blocks }, () => {
    accelerator.waitForEveryone();
    const start = performance.now();
    run(steps);
    accelerator.waitForEveryone();
    return (performance.now() - start) / steps;
  });
}

/** Makes the exchanges of a step, without a step. */
function repeaterOf(accelerator: Accelerator, exchanges: readonly Exchange[]): (steps: number) => void {
  if (accelerator.numProcesses === 1) return () => {};
  // Programs see a part of it.
  const mesh = accelerator.mesh as ReturnType<typeof meshOf>;
  const ranks = mesh.along('tensor');
  return (steps) => {
    for (let step = 0; step < steps; step++) {
      for (const { verb, count, shape } of exchanges) {
        const x = tf.zeros([...shape]);
        for (let i = 0; i < count; i++) {
          const given =
            verb === 'allGather'
              ? ranks.allGather(x, { agreed: true })
              : ranks[verb](x, 'sum', { agreed: true });
          given.dispose();
        }
        x.dispose();
      }
    }
  };
}

/** Checks the list of exchanges against those of the last step. */
function requireExchanges(accelerator: Accelerator, exchanges: readonly Exchange[]): void {
  const sent = accelerator.communication()['tensor'] ?? { calls: 0, bytes: 0 };
  if (accelerator.numProcesses === 1) return;
  repeaterOf(accelerator, exchanges)(1);
  const expected = accelerator.communication()['tensor']!;
  const isSame = sent.calls === expected.calls && sent.bytes === expected.bytes;
  if (!isSame) throw new Error(`sent ${JSON.stringify(sent)}, expected ${JSON.stringify(expected)}`);
}

/**
 * Times training steps of one model, and tells their peak memory: `acc launch bench/compile/ours.ts
 * job.json`. If the job compiles, the step is first warmed up without, so that the time of recording
 * is not that of V8's compiler.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import type { Fusion } from '@acc/contract';
import { memoryStats, resetPeakMemory } from '@acc/native';
import { memory } from '@tensorflow/tfjs';
import { reportOf, startTraining, type Job } from '../training.js';

interface CompileJob extends Job {
  /** Absent: the step is not compiled. */
  readonly fuse?: Fusion;
}

/** The first call runs plainly, the next two are recorded. */
const CALLS_BEFORE_REPLAYS = 3;

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as CompileJob;
const training = await startTraining(job);
const { accelerator, plainStep, firstLoss } = training;
const compiled = job.fuse === undefined ? undefined : accelerator.compile(plainStep, { fuse: job.fuse });
const runSteps = (count: number): number => training.runSteps(count, compiled ?? plainStep);

function timeOf(run: () => void): number {
  const start = performance.now();
  run();
  return performance.now() - start;
}

const plainMs = timeOf(() => training.runSteps(job.steps, plainStep)) / job.steps;
const compileSteps =
  compiled && timeOf(() => runSteps(CALLS_BEFORE_REPLAYS)) / plainMs - CALLS_BEFORE_REPLAYS;
runSteps(job.steps);
if (compiled && (compiled.replays === 0 || compiled.reason !== undefined)) {
  throw new Error(`${job.model} is not replayed: ${compiled.reason}`);
}

const tensorsBefore = memory().numTensors;
resetPeakMemory();
const blockMs: number[] = [];
let lastLoss = firstLoss;
for (let block = 0; block < job.blocks; block++) {
  const start = performance.now();
  lastLoss = runSteps(job.steps);
  blockMs.push(performance.now() - start);
}
const peakBytes = memoryStats().peakAllocatedBytes;
const tensorsLeaked = memory().numTensors - tensorsBefore;
if (tensorsLeaked !== 0) throw new Error(`${job.model}: ${tensorsLeaked} tensors leaked in the timed steps`);
const explanation = compiled?.explain();
writeFileSync(
  job.resultPath,
  reportOf(training, { blockMs, lastLoss, peakBytes, compileSteps, explanation }),
);
await accelerator.endTraining();

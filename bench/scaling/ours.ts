/**
 * Times training steps of one model on one rank, with batches of several sizes in turn: `acc launch
 * scaling/ours.ts job-{rank}.json`. Writes the results to the job's `resultPath`.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { reportOf, startTraining, type Job } from '../training.js';

interface ScalingJob extends Job {
  /** The numbers of samples in a step on this rank. `batch` is the first. */
  readonly batchSizes: readonly number[];
  /** A folder of files by which processes without communication begin each block together. */
  readonly meeting?: { readonly folder: string; readonly index: number; readonly count: number };
}

const jobPath = process.argv[2]!.replace('{rank}', process.env.RANK!);
const job = JSON.parse(readFileSync(jobPath, 'utf8')) as ScalingJob;
const training = await startTraining(job);
const { accelerator, firstLoss, runSteps, stepsOn } = training;
const [, ...others] = job.batchSizes;
const runners = [runSteps, ...others.map(stepsOn)];
// The program is warm now, but its allocator and kernels are not warm for these shapes.
for (const run of runners.slice(1)) run(Math.ceil(job.warmupSteps / 5));

let blocksBegun = 0;
async function begin(): Promise<void> {
  const name = `block-${blocksBegun++}`;
  if (!job.meeting) return accelerator.waitForEveryone();
  const { folder, index, count } = job.meeting;
  const pathOf = (process: number) => `${folder}/${name}-${process}`;
  writeFileSync(pathOf(index), '');
  for (let process = 0; process < count; process++) while (!existsSync(pathOf(process))) await sleep(1);
}

const blockMs: number[][] = runners.map(() => []);
let lastLoss = firstLoss;
for (let block = 0; block < job.blocks; block++) {
  for (const [i, run] of runners.entries()) {
    await begin();
    const start = performance.now();
    lastLoss = run(job.steps);
    if (!job.meeting) accelerator.waitForEveryone();
    blockMs[i]!.push(performance.now() - start);
  }
}

writeFileSync(job.resultPath, reportOf(training, { blockMs, lastLoss }));
await accelerator.endTraining();

/**
 * Times training steps of one model with tfjs + Accelerate: `acc launch -n N bench/ours.ts
 * job.json`. The main process writes the results to the job's `resultPath`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { memory } from '@tensorflow/tfjs';
import { reportOf, startTraining, type Job } from './training.js';

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const training = await startTraining(job);
const { accelerator, firstLoss, runSteps } = training;
const tensorsBefore = memory().numTensors;
const blockMs: number[] = [];
const cpuMs: number[] = [];
let lastLoss = firstLoss;
for (let block = 0; block < job.blocks; block++) {
  accelerator.waitForEveryone();
  const start = performance.now();
  const cpuStart = process.cpuUsage();
  lastLoss = runSteps(job.steps);
  accelerator.waitForEveryone();
  blockMs.push(performance.now() - start);
  const cpu = process.cpuUsage(cpuStart);
  cpuMs.push((cpu.user + cpu.system) / 1e3);
}
const tensorsLeaked = memory().numTensors - tensorsBefore;
if (tensorsLeaked !== 0) throw new Error(`${job.model}: ${tensorsLeaked} tensors leaked in the timed steps`);

if (accelerator.isMainProcess) {
  writeFileSync(job.resultPath, reportOf(training, { blockMs, cpuMs, lastLoss }));
}
await accelerator.endTraining();

/**
 * Measures the parts of a step with tfjs + Accelerate, on one rank: `acc launch
 * bench/profiling/ours.ts job.json`. The same steps run twice, because observation makes them
 * slower: first unobserved, then with every operator call timed, under V8's sampling profiler.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { numThreads, observeCalls } from '@acc/native';
import { OperatorTimes } from '@acc/profile';
import { startTraining, versions, type Job } from '../training.js';
import { sampleFunctions } from './samples.js';

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const { accelerator, parameterCount, runSteps } = await startTraining(job);

/** The wall time of one step, in ms. */
function timeSteps(): number {
  const start = performance.now();
  runSteps(job.steps);
  return (performance.now() - start) / job.steps;
}

const stepMs = timeSteps();
let observedStepMs = NaN;
const times = new OperatorTimes();
const samples = await sampleFunctions(() => {
  const end = observeCalls((...call) => void times.observe(...call));
  observedStepMs = timeSteps();
  end();
}, job.steps);
const operators = times.rows(job.steps);
const operatorMs = operators.reduce((sum, { ms }) => sum + ms, 0);
const result = {
  ...{ stepMs, observedStepMs, parameterCount, operators },
  parts: [
    { name: 'libtorch operators', ms: operatorMs },
    { name: 'other native calls: free, read, flags', ms: Math.max(0, samples.nativeMs - operatorMs) },
    ...samples.packages,
  ],
  functions: samples.functions,
  threads: numThreads(),
  device: accelerator.device,
  versions: versions(),
};
writeFileSync(job.resultPath, JSON.stringify(result));
await accelerator.endTraining();

/**
 * Measures what a rank holds in training: `acc launch -n N bench/sharding/memory.ts job.json`. The
 * main process writes the results to the job's `resultPath`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { memoryStats, resetPeakMemory } from '@acc/native';
import { reportOf, startTraining, type Job } from '../training.js';

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const training = await startTraining(job);
const { accelerator, optimizer, runSteps } = training;
const restingBytes = memoryStats().allocatedBytes;
// When the update begins: activations are gone, and gradients are complete.
let updateBytes = 0;
const apply = optimizer.applyGradients.bind(optimizer);
optimizer.applyGradients = (grads) => {
  updateBytes = memoryStats().allocatedBytes;
  apply(grads);
};
resetPeakMemory();
const lastLoss = runSteps(job.steps);
const ranks = accelerator.gatherObject([
  { restingBytes, updateBytes, peakBytes: memoryStats().peakAllocatedBytes },
]);
if (accelerator.isMainProcess) writeFileSync(job.resultPath, reportOf(training, { memory: ranks, lastLoss }));
await accelerator.endTraining();

/**
 * Measures the CPU memory of a training step with tfjs + Accelerate, on one rank: `acc launch
 * bench/memory/ours.ts job.json`. It measures twice: first with tfjs's own walk over the tape, then
 * with ours.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { memoryStats, numThreads, resetPeakMemory } from '@acc/native';
import { engine } from '@tensorflow/tfjs';
import { startTraining, versions, type Job } from '../training.js';

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const { accelerator, parameterCount, runSteps } = await startTraining(job);

function measure(): { restingBytes: number; peakBytes: number } {
  runSteps(1);
  const restingBytes = memoryStats().allocatedBytes;
  resetPeakMemory();
  runSteps(job.steps);
  return { restingBytes, peakBytes: memoryStats().peakAllocatedBytes };
}

// Accelerate's walk is an own property of the engine, which hides the method of the class.
const tfjs = engine() as unknown as { gradients?: unknown };
const driven = tfjs.gradients;
delete tfjs.gradients;
const { peakBytes: stockPeakBytes } = measure();
tfjs.gradients = driven;
const result = {
  ...measure(),
  stockPeakBytes,
  parameterCount,
  threads: numThreads(),
  device: accelerator.device,
  versions: versions(),
};
writeFileSync(job.resultPath, JSON.stringify(result));
await accelerator.endTraining();

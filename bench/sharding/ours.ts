/**
 * Times and measures training steps of one model by one strategy: `acc launch -n N
 * bench/sharding/ours.ts job.json`. The main process writes the results to the job's `resultPath`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { memoryStats, resetPeakMemory } from '@acc/native';
import { reportOf, startTraining, type Job } from '../training.js';

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const training = await startTraining(job);
const { accelerator, runSteps } = training;
const blockMs: number[] = [];
let lastLoss = 0;
const restingBytes = memoryStats().allocatedBytes;
resetPeakMemory();
accelerator.communication();
for (let block = 0; block < job.blocks; block++) {
  accelerator.waitForEveryone();
  const start = performance.now();
  lastLoss = runSteps(job.steps);
  accelerator.waitForEveryone();
  blockMs.push(performance.now() - start);
}
const sent = Object.values(accelerator.communication()).reduce((sum, { bytes }) => sum + bytes, 0);
const ranks = accelerator.gatherObject([
  {
    restingBytes,
    peakBytes: memoryStats().peakAllocatedBytes,
    residentBytes: process.resourceUsage().maxRSS * 1024,
  },
]);
if (accelerator.isMainProcess) {
  const most = (name: keyof (typeof ranks)[number]) => Math.max(...ranks.map((rank) => rank[name]));
  const memory = {
    restingBytes: most('restingBytes'),
    peakBytes: most('peakBytes'),
    residentBytes: most('residentBytes'),
  };
  const sentBytes = sent / (job.blocks * job.steps);
  writeFileSync(job.resultPath, reportOf(training, { blockMs, lastLoss, sentBytes, ...memory }));
}
await accelerator.endTraining();

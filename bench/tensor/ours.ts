/**
 * Times training steps of models that ranks compute together: `acc launch -n N bench/tensor/ours.ts
 * job.json`. The main process writes the results to the job's `resultPath`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { Accelerator, parallelize } from '@acc/core';
import * as tf from '@tensorflow/tfjs';
import { versions } from '../training.js';
import { createSubject, type Case } from './models.js';

interface Job {
  readonly cases: readonly Case[];
  readonly warmupSteps: number;
  readonly steps: number;
  readonly blocks: number;
  readonly resultPath: string;
}

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const results: object[] = [];
for (const given of job.cases) {
  const accelerator = await Accelerator.create({ engine: 'acc', mesh: { tensor: -1 }, seed: 1 });
  const subject = createSubject(given, accelerator.numProcesses);
  const model = parallelize(subject.model, subject.plan);
  const [, optimizer] = accelerator.prepare(model, tf.train.adam(1e-3));
  const { xs, ys } = subject;
  const run = (count: number) => {
    let lossValue = 0;
    for (let i = 0; i < count; i++) {
      const loss = optimizer.minimize(() => subject.loss(model.apply(xs, { training: true }) as tf.Tensor, ys), true)!;
      if (i === count - 1) lossValue = loss.dataSync()[0]!;
      loss.dispose();
    }
    return lossValue;
  };
  const firstLoss = run(1);
  run(job.warmupSteps);
  accelerator.communication();
  run(1);
  const sent = accelerator.communication();
  accelerator.resetPeakMemory();
  const stepMs: number[] = [];
  let lastLoss = 0;
  for (let block = 0; block < job.blocks; block++) {
    accelerator.waitForEveryone();
    const start = performance.now();
    lastLoss = run(job.steps);
    accelerator.waitForEveryone();
    stepMs.push((performance.now() - start) / job.steps);
  }
  results.push({ name: given.name, stepMs, firstLoss, lastLoss, sent });
  accelerator.freeMemory();
  tf.dispose([xs, ys]);
  tf.disposeVariables();
}
if (process.env.RANK === '0' || process.env.RANK === undefined)
  writeFileSync(job.resultPath, JSON.stringify({ results, versions: versions() }));

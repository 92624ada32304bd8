import { readFileSync } from 'node:fs';
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { memoryStats } from '@acc/native';
import { resetPeakMemory } from '../packages/native/src/memory.js';
import { createModel, seededRandom } from './models/index.js';
const [precision, model, ...modes] = process.argv.slice(2);
const w = JSON.parse(readFileSync(new URL('./workloads.json', import.meta.url), 'utf8'))[model!];
const runs: { name: string; step: (n: number) => number; times: number[]; peak: number; loss: number }[] = [];
const accelerator = await Accelerator.create({ engine: 'acc', device: 'cpu', seed: 7, mixedPrecision: precision === 'fp32' ? 'no' : 'bf16' });
for (const name of modes) {
  const bench = createModel(tf as never, model!, w.sizes);
  const [, optimizer] = accelerator.prepare(bench.trainable, tf.train.adam(w.learningRate));
  const random = seededRandom(7);
  const batch = bench.makeBatch(w.batch, random);
  const plain = (xs: tf.Tensor, ys: tf.Tensor) => optimizer.minimize(() => bench.loss({ xs, ys } as never, true), true)!;
  const fuse = { off: false, on: true, exact: 'exact' }[name];
  const step = name === 'eager' ? plain : accelerator.compile(plain, { fuse } as never);
  const take = (n: number) => { let l = 0; for (let i = 0; i < n; i++) { const r = step(batch.xs, batch.ys); l = r.dataSync()[0]!; r.dispose(); } return l; };
  const loss = take(6);
  if (name === 'on') console.log((step as never as {explain(): string}).explain().split('\n').slice(0, 8).join('\n').slice(0,900));
  runs.push({ name, step: take, times: [], peak: 0, loss });
}
for (let r = 0; r < 12; r++) for (const run of runs) {
  resetPeakMemory();
  const before = memoryStats().allocatedBytes;
  const s = performance.now(); run.step(2); run.times.push((performance.now() - s) / 2);
  run.peak = memoryStats().peakAllocatedBytes - before;
}
for (const { name, times, peak, loss } of runs) console.log(name, model, precision, 'median ms', times.toSorted((a, b) => a - b)[6]!.toFixed(1), 'min', Math.min(...times).toFixed(1), 'peak MB', (peak / 1e6).toFixed(0), 'loss6', loss);
process.exit(0);

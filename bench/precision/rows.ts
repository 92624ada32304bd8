/** Times products of few and of many rows with packed weights: `node --import tsx bench/precision/rows.ts job.json`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { Accelerator } from '@acc/core';
import { quantizeVariable, type QuantizeVariableOptions } from '@acc/quantization';
import * as tf from '@tensorflow/tfjs';
import { versions } from '../training.js';

interface Job {
  readonly width: number;
  readonly rows: readonly number[];
  readonly blocks: number;
  readonly seed: number;
  readonly resultPath: string;
}

interface Format {
  readonly name: string;
  readonly isBf16?: boolean;
  readonly options?: QuantizeVariableOptions;
}

const FORMATS: readonly Format[] = [
  { name: 'float32' },
  { name: 'bf16 products', isBf16: true },
  { name: 'int8 weights', options: { weights: 'int8' } },
  { name: 'int8 weights, dynamic inputs', options: { weights: 'int8', activations: 'dynamic' } },
  { name: 'int4 weights', options: { weights: 'int4' } },
  { name: 'nf4 weights', options: { weights: 'nf4' } },
];
/** The shortest time of a block. */
const BLOCK_MS = 20;

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const results = FORMATS.map(({ name }) => ({ name, ms: job.rows.map((): number[] => []), bytes: 0 }));
for (const [i, { isBf16 = false, options }] of FORMATS.entries()) {
  const accelerator = await Accelerator.create({ mixedPrecision: isBf16 ? 'bf16' : 'no', seed: job.seed });
  const weight = tf.variable(tf.randomNormal([job.width, job.width], 0, 0.02, 'float32', job.seed));
  results[i]!.bytes = options ? quantizeVariable(weight, options).bytes : 4 * weight.size;
  for (const [k, rows] of job.rows.entries()) {
    const x = tf.randomNormal([rows, job.width], 0, 1, 'float32', job.seed + 1);
    // A weight that has its bfloat16 values already is what a second step of inference meets.
    const multiply = () => accelerator.autocast(() => tf.matMul(x, weight as tf.Tensor).dispose());
    results[i]!.ms[k] = timesOf(multiply);
    x.dispose();
  }
  weight.dispose();
  accelerator.freeMemory();
}
writeFileSync(job.resultPath, JSON.stringify({ results, versions: versions() }));

/** Milliseconds of one call, for each block. */
function timesOf(call: () => void): number[] {
  let calls = 1;
  while (timeOf(call, calls) < BLOCK_MS) calls *= 2;
  return Array.from({ length: job.blocks }, () => timeOf(call, calls) / calls);
}

function timeOf(call: () => void, calls: number): number {
  const start = performance.now();
  for (let i = 0; i < calls; i++) call();
  return performance.now() - start;
}

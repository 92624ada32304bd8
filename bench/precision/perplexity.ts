/**
 * Measures the perplexity of SmolLM2-135M in each format of 8 bits: `node --import tsx
 * bench/precision/perplexity.ts job.json`. Its weights come from a file of 4 bits.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { Accelerator } from '@acc/core';
import { loadPretrained, type LoadPretrainedOptions } from '@acc/transformer';
import * as tf from '@tensorflow/tfjs';
import { versions } from '../training.js';

interface Job {
  /** A GGUF file. */
  readonly model: string;
  /** The tokens of the text. */
  readonly ids: readonly number[];
  readonly windows: number;
  readonly length: number;
  readonly seed: number;
  readonly resultPath: string;
}

interface Variant {
  readonly name: string;
  readonly isBf16?: boolean;
  readonly options?: LoadPretrainedOptions;
}

const VARIANTS: readonly Variant[] = [
  { name: 'float32' },
  { name: 'bf16 products', isBf16: true },
  { name: 'int8 weights', options: { weights: 'int8' } },
  { name: 'int8 weights, dynamic inputs', options: { weights: 'int8', activations: 'dynamic' } },
];

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const results = [];
for (const { name, isBf16 = false, options } of VARIANTS) {
  const accelerator = await Accelerator.create({ mixedPrecision: isBf16 ? 'bf16' : 'no', seed: job.seed });
  const model = options ? await loadPretrained(job.model, options) : await loadPretrained(job.model);
  const loss = accelerator.autocast(() => lossOf(model));
  results.push({ name, loss });
  console.error(JSON.stringify(results.at(-1)));
  model.dispose();
  accelerator.freeMemory();
}
writeFileSync(job.resultPath, JSON.stringify({ results, versions: versions() }));

/** The mean loss of the next token over the windows of the text, each of which begins anew. */
function lossOf(model: tf.LayersModel): number {
  const { ids, windows, length } = job;
  const losses = Array.from({ length: windows }, (_, i) => {
    const start = Math.floor((i * (ids.length - length - 1)) / Math.max(1, windows - 1));
    return tf.tidy(() => {
      const part = (shift: number) => ids.slice(start + shift, start + shift + length);
      const logits = model.apply(tf.tensor2d([part(0)], [1, length], 'int32')) as tf.Tensor;
      const rows = tf.logSoftmax(logits.reshape([length, -1]) as tf.Tensor2D);
      const places = tf.stack([tf.range(0, length, 1, 'int32'), tf.tensor1d(part(1), 'int32')], 1);
      return -tf.gatherND(rows, places).mean().dataSync()[0]!;
    });
  });
  return losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
}

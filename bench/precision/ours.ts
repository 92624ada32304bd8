/**
 * Trains one network in float32 and in int8, and measures it in each format: `node --import tsx
 * bench/precision/ours.ts job.json`.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { Accelerator } from '@acc/core';
import { setSeed } from '@acc/native';
import {
  convertQat,
  prepareQat,
  quantize,
  type LayerReport,
  type QatOptions,
  type QuantizeOptions,
} from '@acc/quantization';
import * as tf from '@tensorflow/tfjs';
import { seededRandom } from '../models/index.js';
import { versions } from '../training.js';
import { NETWORKS } from './networks.js';
import { VARIANTS, type Variant } from './variants.js';

interface Job {
  readonly network: string;
  /** Of the training in float32. Default: that of the network. */
  readonly steps?: number;
  readonly seed: number;
  readonly resultPath: string;
}

interface Measured {
  readonly name: string;
  /** The mean over all held-back labels. */
  readonly loss: number;
  /** The share of held-back labels that have the largest logit. */
  readonly accuracy: number;
  /** Of all weights in memory. */
  readonly bytes: number;
}

/** Steps of quantization-aware training, for each step in float32. */
const QAT_STEPS = 0.2;
const QAT_RATE = 0.2;
const TEST_BATCH = 100;

const job = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Job;
const network = NETWORKS[job.network]!;
const task = network.createTask();
const steps = job.steps ?? network.steps;
const trained = await train({ precision: 'no', steps });
const results: Measured[] = [];
for (const variant of VARIANTS) {
  results.push(await measureVariant(variant));
  console.error(JSON.stringify(results.at(-1)));
}
const narrow = await train({ precision: 'int8', steps });
results.push({ ...(await measureVariant({ name: 'trained in int8' }, narrow)), bytes: results[0]!.bytes });
writeFileSync(job.resultPath, JSON.stringify({ title: network.title, results, versions: versions() }));

interface Training {
  readonly precision: 'no' | 'int8';
  readonly steps: number;
}

/** The weights after training. */
async function train({ precision, steps: count }: Training): Promise<tf.Tensor[]> {
  const accelerator = await Accelerator.create({ mixedPrecision: precision, seed: job.seed });
  setSeed(job.seed);
  // tfjs's initializers draw their seeds from it.
  Math.random = seededRandom(job.seed);
  const model = network.build();
  takeSteps(accelerator, model, { count, rate: network.learningRate });
  accelerator.freeMemory();
  const weights = model.getWeights().map((weight) => tf.keep(weight.clone()));
  model.dispose();
  return weights;
}

function takeSteps(
  accelerator: Accelerator,
  model: tf.LayersModel,
  { count, rate }: { readonly count: number; readonly rate: number },
): void {
  const [, optimizer] = accelerator.prepare(model, tf.train.adam(rate));
  const random = seededRandom(job.seed + 1);
  for (let step = 0; step < count; step++) {
    const { xs, ys } = task.draw(network.batch, random);
    const logits = () => model.apply(xs, { training: true }) as tf.Tensor;
    tf.tidy(() => void optimizer.minimize(() => task.loss(logits(), ys), false));
    tf.dispose([xs, ys]);
  }
}

async function measureVariant(variant: Variant, weights = trained): Promise<Measured> {
  const { name, isBf16 = false, quantize: format, qat } = variant;
  const accelerator = await Accelerator.create({ mixedPrecision: isBf16 ? 'bf16' : 'no', seed: job.seed });
  const model = network.build();
  model.setWeights(weights);
  let report: readonly LayerReport[] = [];
  if (format) report = await pack(model, format);
  if (qat) {
    prepareQat(model, { ...qat, ...leftOut(qat) });
    const rate = network.learningRate * QAT_RATE;
    takeSteps(accelerator, model, { count: Math.round(steps * QAT_STEPS), rate });
    report = await convertQat(model);
  }
  const measured = accelerator.autocast(() => score(model));
  accelerator.freeMemory();
  model.dispose();
  return { name, ...measured, bytes: bytesOf(weights, report) };
}

/** Inputs are rounded where only dense layers read them. The weights of the other layers are packed alone. */
async function pack(model: tf.LayersModel, format: QuantizeOptions): Promise<LayerReport[]> {
  const { products } = network;
  if (format.activations !== 'dynamic' || !products)
    return quantize(model, { ...format, ...leftOut(format) });
  const rounding = await quantize(model, { ...format, layers: products });
  return [...rounding, ...(await quantize(model, { weights: 'int8', exclude: products }))];
}

function leftOut({ granularity }: QuantizeOptions | QatOptions): { exclude?: readonly string[] } {
  const isInGroups = typeof granularity === 'object' && network.notInGroups.length > 0;
  return isInGroups ? { exclude: network.notInGroups } : {};
}

/** The loss and the accuracy on all held-back examples. */
function score(model: tf.LayersModel): Pick<Measured, 'loss' | 'accuracy'> {
  let [loss, right, count] = [0, 0, 0];
  for (const { xs, ys } of task.testBatches(TEST_BATCH)) {
    const [lost, hits] = tf.tidy(() => {
      const logits = model.apply(xs) as tf.Tensor;
      return [task.loss(logits, ys).dataSync()[0]!, task.right(logits, ys).dataSync()[0]!];
    });
    loss += lost * ys.size;
    right += hits;
    count += ys.size;
    tf.dispose([xs, ys]);
  }
  return { loss: loss / count, accuracy: right / count };
}

/** The bytes of all weights: packed ones as they lie in memory, others in float32. */
function bytesOf(weights: readonly tf.Tensor[], report: readonly LayerReport[]): number {
  const all = 4 * weights.reduce((sum, { size }) => sum + size, 0);
  return report.reduce((sum, { bytes, bits }) => sum + bytes - (4 * 8 * bytes) / bits, all);
}

// Trains a small model with any combination of features: the same program on a mesh and in one process.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Accelerator,
  adafactor,
  DataLoader,
  dispatchModel,
  gradientNoiseScale,
  LocalSGD,
  parallelize,
  setSeed,
  sgdw,
  type AcceleratorOptions,
  type CompiledStep,
} from '@acc/core';
import { ddp } from '@acc/ddp';
import { fsdp } from '@acc/fsdp';
import { quantize } from '@acc/quantization';
import { seededRandom } from '@acc/testkit';
import { tokenEmbedding, transformerBlock } from '@acc/transformer';
import * as tf from '@tensorflow/tfjs';
import type { Feature } from '../../../packages/core/src/presets/composes.js';
import { disposeOptimizers } from '../dispose-optimizers.js';
import { tokensOf } from '../transformer/models.js';

export const AXES = ['data', 'fsdp', 'tensor', 'context', 'expert', 'pipeline'] as const;

export interface Trained {
  readonly loss: number;
  /** Of a compiled step. */
  readonly replays: number;
  readonly weights: Readonly<Record<string, readonly number[]>>;
}

const ROWS = 8;
const LENGTH = 4;
const VOCABULARY = 8;
const UNITS = 8;
const RATE = 0.05;

/** A compiled step is replayed from the fourth on. */
const stepsOf = (features: ReadonlySet<Feature>) => (features.has('compile') ? 4 : 2);

/** Options that ask for some features, on a mesh with two ranks along each of their axes. */
function optionsOf(features: ReadonlySet<Feature>): AcceleratorOptions {
  const has = (feature: Feature) => features.has(feature);
  const axes = AXES.filter(has);
  const isSharded = has('fsdp') || has('offload') || has('fsdpPrecision');
  const hook = has('hookState') ? 'powerSgd' : has('commHook') ? 'bf16' : undefined;
  const folder = () => mkdtempSync(join(tmpdir(), 'acc-composes-'));
  return {
    dataLoader: {
      splitBatches: true,
      shuffle: false,
      ...(has('dispatchBatches') && { dispatchBatches: true }),
    },
    ...(axes.length > 0 && { mesh: Object.fromEntries(axes.map((axis) => [axis, 2])) }),
    ...(has('sharedRows') && { mesh: { tensor: 2 } }),
    ...(isSharded && { strategy: 'fsdp' }),
    ...(has('single') && { strategy: 'single' }),
    ...(has('ownStrategy') && { strategy: { ...ddp(), name: 'own' } }),
    ...(has('ownSharding') && { strategy: fsdp() }),
    ...(has('autoLog') && { autoLog: { every: 1, system: false }, logWith: [], projectDir: folder() }),
    fsdp: {
      // Each layer is a unit, so that reading one releases another.
      ...(has('autoLog') && { bucketBytes: 1 }),
      // Alone, this option is one of a strategy that shards nothing.
      ...(has('fsdpPrecision') && { mixedPrecision: { reduce: 'bf16' } }),
      ...(has('fsdpPrecision') && !has('fsdp') && { stage: 'NO_SHARD' }),
      ...(has('offload') && { offload: { params: true, optimizer: true, to: folder() } }),
    },
    ddp: {
      ...(hook && { commHook: hook }),
      ...(has('syncAtApply') && { syncAt: 'apply' }),
      ...(has('syncEachBatch') && { syncEachBatch: true }),
      ...(has('batchNorm') && { batchNorm: 'broadcast' }),
    },
    ...(has('deterministic') && { deterministic: true }),
    ...(has('mixedPrecision') && { mixedPrecision: 'bf16' }),
    ...(has('clipping') && { gradientClipping: { norm: 0.1 } }),
    ...(has('accumulation') && { gradientAccumulationSteps: 2 }),
    ...(has('checkpoints') && { checkpointEvery: 1 }),
    ...(has('noiseScale') && { plugins: [gradientNoiseScale()] }),
  };
}

/** Trains a model for some steps. @param isAlone Whether one process does it, without a mesh. */
export async function train(given: readonly Feature[], isAlone = false): Promise<Trained> {
  const features = new Set(given);
  const accelerator = await Accelerator.create({ ...optionsOf(features), ...(isAlone && { mesh: 'auto' }) });
  setSeed(3 + Math.floor(accelerator.processIndex / accelerator.mesh.size('tensor')));
  const model = modelOf(features.has('expert'));
  if (features.has('quantized')) await quantize(model, { weights: 'int8', exclude: ['logits'] });
  const optimizer = features.has('adafactor')
    ? adafactor({ learningRate: RATE })
    : features.has('stateBits')
      ? sgdw({ learningRate: RATE, momentum: 0.9, stateBits: 8 })
      : tf.train.momentum(RATE, 0.9);
  const data = rowsFor(stepsOf(features));
  try {
    if (features.has('tensor')) parallelize(model, 'auto');
    const loop = () => trainOn(accelerator, { model, optimizer, data }, features);
    const { loss, replays } = await (features.has('join') ? accelerator.joinUnevenInputs(loop) : loop());
    if (features.has('dispatchModel')) await dispatchModel(model);
    const whole = accelerator.getStateDict(model);
    const weights = Object.fromEntries(
      Object.entries(whole).map(([name, values]) => [name, Array.from(values.dataSync())]),
    );
    tf.dispose(whole);
    return { loss, replays, weights };
  } finally {
    tf.dispose(data);
    accelerator.freeMemory();
    disposeOptimizers(optimizer);
    model.dispose();
    tf.disposeVariables();
  }
}

interface Parts {
  readonly model: tf.LayersModel;
  readonly optimizer: tf.Optimizer;
  readonly data: Readonly<Record<'x' | 'y', tf.Tensor2D>>;
}

/** Returns the mean loss of the last step over all ranks, and how often a compiled step was replayed. */
async function trainOn(
  accelerator: Accelerator,
  { model, optimizer: own, data }: Parts,
  features: ReadonlySet<Feature>,
): Promise<Pick<Trained, 'loss' | 'replays'>> {
  const micro = accelerator.gradientAccumulationSteps;
  const loader = new DataLoader(data, { batchSize: ROWS / micro });
  const [, optimizer, batches] = accelerator.prepare(model, own, loader);
  const step = stepOf(accelerator, { model, optimizer }, features);
  if (features.has('autoLog')) await accelerator.initTrackers('composes');
  const local = features.has('apart') ? new LocalSGD(accelerator, model, { localSgdSteps: 1 }) : undefined;
  let loss = NaN;
  for await (const { x, y } of batches as AsyncIterable<Parts['data']>) {
    const take = () => accelerator.accumulate(() => step(x, y));
    const ofRank = features.has('noSync') ? accelerator.noSync(take) : take();
    local?.step();
    loss = tf.tidy(() => accelerator.reduce(ofRank, 'mean').dataSync()[0]!);
    tf.dispose([ofRank, x, y]);
  }
  local?.end();
  return { loss, replays: (step as Partial<CompiledStep<never[], unknown>>).replays ?? 0 };
}

type Step = (x: tf.Tensor2D, y: tf.Tensor2D) => tf.Scalar;

function stepOf(
  accelerator: Accelerator,
  { model, optimizer }: Omit<Parts, 'data'>,
  features: ReadonlySet<Feature>,
): Step {
  const lossOf = (y: tf.Tensor, logits: tf.Tensor) => {
    const loss = crossEntropy(y, logits);
    return features.has('weighLoss') ? accelerator.weighLoss(loss, y.size) : loss;
  };
  const staged = features.has('pipeline')
    ? accelerator.pipelined(model, lossOf, { microBatches: 2 })
    : undefined;
  const plain: Step = (x, y) =>
    (staged?.(x, y) as tf.Scalar | undefined) ??
    optimizer.minimize(() => lossOf(y, model.apply(x, { training: true }) as tf.Tensor), true)!;
  return features.has('compile') ? accelerator.compile(plain) : plain;
}

function crossEntropy(y: tf.Tensor, logits: tf.Tensor): tf.Scalar {
  const labels = tf.oneHot(tf.reshape(y, [-1]) as tf.Tensor1D, VOCABULARY);
  return tf.losses.softmaxCrossEntropy(labels, tf.reshape(logits, [-1, VOCABULARY]));
}

function rowsFor(steps: number): Parts['data'] {
  const rows = tokensOf(steps * ROWS, LENGTH + 1, VOCABULARY);
  const [x, y] = [0, 1].map((from) =>
    tf.tensor2d(
      rows.map((row) => row.slice(from, LENGTH + from)),
      undefined,
      'int32',
    ),
  );
  return { x: x!, y: y! };
}

function modelOf(hasExperts: boolean): tf.LayersModel {
  const moe = { experts: 2, topK: 1, balanceLoss: 0 };
  const input = tf.input({ shape: [null] });
  let x = tokenEmbedding({ name: 'wte', vocabularySize: VOCABULARY, units: UNITS }).apply(input);
  for (const name of ['h.0', 'h.1']) {
    const block = { name, heads: 2, causal: true, rotary: true, innerUnits: UNITS };
    x = transformerBlock({ ...block, ...(hasExperts && { moe }) }).apply(x);
  }
  const logits = tf.layers.dense({ name: 'logits', units: VOCABULARY }).apply(x);
  const model = tf.model({ inputs: input, outputs: logits as tf.SymbolicTensor });
  const random = seededRandom(7);
  for (const weight of model.weights) {
    const { shape, size } = weight.read();
    const values = Array.from({ length: size }, () => 0.6 * random() - 0.3);
    if (shape.length > 1) tf.tidy(() => void weight.write(tf.tensor(values, shape)));
  }
  return model;
}

// Trains small models on a mesh, and as one process: the same program with the same options.
import { join } from 'node:path';
import {
  Accelerator,
  DataLoader,
  lamb,
  parallelize,
  setSeed,
  type AcceleratorOptions,
  type ParallelPlan,
  type PipelineOptions,
} from '@acc/core';
import { seededRandom } from '@acc/testkit';
import { gpt2, llama, tokenEmbedding, transformerBlock } from '@acc/transformer';
import * as tf from '@tensorflow/tfjs';
import { disposeOptimizers } from '../dispose-optimizers.js';
import { tokensOf } from '../transformer/models.js';
import { hinge, withIntegers } from './integers.js';

const ROWS = 8;
const LENGTH = 8;
const VOCABULARY = 26;

export interface Case {
  readonly model: 'gpt2' | 'llama' | 'experts' | 'integers';
  readonly plan?: ParallelPlan;
  readonly mesh?: NonNullable<AcceleratorOptions['mesh']>;
  readonly options?: AcceleratorOptions;
  /** Training in stages. */
  readonly pipelined?: PipelineOptions;
  /** Whether the step is compiled. */
  readonly isCompiled?: boolean;
  /** Of the optimizer. Default: see `stepsOf`. */
  readonly steps?: number;
  readonly dropout?: number;
  readonly optimizer?: 'lamb';
  /** The factor of the load-balancing loss of experts. Default 0. */
  readonly balanceLoss?: number;
  /** The folder of a state to save. */
  readonly save?: string;
  /** The micro-batches before it is saved. Default: those of half of the steps. */
  readonly saveAfter?: number;
  /** The micro-batches to train. Default: all. */
  readonly stopAfter?: number;
  /** The folder of a state to begin with. */
  readonly load?: string;
  /** Whether the model is divided into stages before that. */
  readonly loadsLate?: boolean;
}

export interface Trained {
  /** Of this rank on the mesh. */
  readonly coordinates: Readonly<Record<string, number>>;
  /** The rank numbers that `gather` returns. */
  readonly gathered: readonly number[];
  /** The mean over all ranks, of each micro-batch. */
  readonly losses: readonly number[];
  readonly weights: Readonly<Record<string, readonly number[]>>;
  /** The same, read from the variables. */
  readonly read: Readonly<Record<string, readonly number[]>>;
  /** The largest change of an element of a weight. */
  readonly change: number;
  /** The micro-batches at whose end gradients were not finite. */
  readonly skipped: readonly number[];
  /** Of a compiled step. */
  readonly replays: number;
  /** Why a compiled step is not replayed. */
  readonly reason: string | undefined;
  /** How many different numbers of tensors were left after a step. */
  readonly left: number;
  /** The elements of the optimizer's state on this rank. */
  readonly state: number;
  /** Bytes that a forward pass of one row sends, by the axis. */
  readonly sent: Readonly<Record<string, { readonly bytes: number }>>;
  /** Bytes that the first micro-batch of the last step has sent, by the axis. */
  readonly sentInTraining: Readonly<Record<string, { readonly bytes: number }>>;
}

/** The steps of a training. That of integers has time for its loss scale to grow and to overflow. */
export function stepsOf({ model, steps }: Case): number {
  return steps ?? (model === 'integers' ? 12 : 4);
}

/** The same for each process that trains. */
export async function train(given: Case, folder: string): Promise<Trained> {
  const { mesh, options } = given;
  const dataLoader = { splitBatches: true, shuffle: false };
  const accelerator = await Accelerator.create({ dataLoader, ...(mesh && { mesh }), ...options });
  // Ranks draw alike that differ only in their place on the axis tensor.
  setSeed(3 + Math.floor(accelerator.processIndex / accelerator.mesh.size('tensor')));
  const parts = { model: modelOf(given), optimizer: optimizerOf(given) };
  try {
    return await trainOn(accelerator, parts, given, folder);
  } finally {
    accelerator.freeMemory();
    disposeOptimizers(parts.optimizer);
    parts.model.dispose();
    tf.disposeVariables();
  }
}

interface Parts {
  readonly model: tf.LayersModel;
  readonly optimizer: tf.Optimizer;
}

async function trainOn(
  accelerator: Accelerator,
  { model, optimizer: own }: Parts,
  given: Case,
  folder: string,
): Promise<Trained> {
  const micro = accelerator.gradientAccumulationSteps;
  const { save, load, saveAfter = (stepsOf(given) / 2) * micro } = given;
  const untrained = valuesOf(model.weights.map((weight) => [weight.originalName, weight.read()]));
  if (given.plan) parallelize(model, given.plan);
  const rows = tokensOf(stepsOf(given) * ROWS, LENGTH + 1, VOCABULARY);
  const [x, y] = [0, 1].map((from) => {
    return tf.tensor2d(
      rows.map((row) => row.slice(from, LENGTH + from)),
      undefined,
      'int32',
    );
  });
  const loader = new DataLoader({ x: x!, y: y! }, { batchSize: ROWS / micro });
  const [, optimizer, data] = accelerator.prepare(model, own, loader);
  const loadState = async () => load && accelerator.loadState(join(folder, load));
  if (!given.loadsLate) await loadState();
  const lossOf = given.model === 'integers' ? hinge : crossEntropy;
  const stagedLoss = (y: tf.Tensor, logits: tf.Tensor) => lossOf(logits, y as tf.Tensor2D);
  const staged = given.pipelined && accelerator.pipelined(model, stagedLoss, given.pipelined);
  if (given.loadsLate) await loadState();
  const plain = (x: tf.Tensor2D, y: tf.Tensor2D) => {
    const loss = () => lossOf(model.apply(x, { training: true }) as tf.Tensor, y);
    return staged?.(x, y) ?? optimizer.minimize(loss, true)!;
  };
  const compiled = given.isCompiled ? accelerator.compile(plain) : undefined;
  const step = compiled ?? plain;
  const losses: number[] = [];
  const skipped: number[] = [];
  const left = new Set<number>();
  let sentInTraining = accelerator.communication();
  for await (const batch of data as AsyncIterable<Record<'x' | 'y', tf.Tensor2D>>) {
    const mean = tf.tidy(() =>
      accelerator.reduce(
        accelerator.accumulate(() => step(batch.x, batch.y)),
        'mean',
      ),
    );
    const sentNow = accelerator.communication();
    if (losses.length % micro === 0) sentInTraining = sentNow;
    losses.push(mean.dataSync()[0]!);
    if (accelerator.optimizerStepWasSkipped) skipped.push(losses.length);
    tf.dispose([mean, batch.x, batch.y]);
    if (losses.length > (compiled ? 4 : 2) && losses.length % micro === 0) left.add(tf.memory().numTensors);
    if (save && losses.length === saveAfter) await accelerator.saveState(join(folder, save));
    if (losses.length === given.stopAfter) break;
  }
  const state = (await optimizer.getWeights()).reduce((sum, { tensor }) => sum + tensor.size, 0);
  const { coordinates } = accelerator.mesh;
  const gathered = tf.tidy(() => [...accelerator.gather(tf.tensor1d([accelerator.processIndex])).dataSync()]);
  accelerator.communication();
  tf.tidy(() => void model.apply(tf.slice(x!, [0, 0], [1, LENGTH / accelerator.mesh.size('context')])));
  const sent = accelerator.communication();
  const whole = accelerator.getStateDict(model);
  const weights = valuesOf(Object.entries(whole));
  const read = valuesOf(model.weights.map((weight) => [weight.originalName, weight.read()]));
  tf.dispose([whole, x!, y!]);
  const { replays = 0, reason } = compiled ?? {};
  return {
    ...{ coordinates, gathered, losses, skipped, weights, read, change: changeOf(untrained, weights) },
    ...{ left: left.size, state, sent, sentInTraining, replays, reason },
  };
}

function optimizerOf({ model, optimizer }: Case): tf.Optimizer {
  if (model === 'integers') return tf.train.sgd(1);
  if (optimizer === 'lamb') return lamb({ learningRate: 0.01, epsilon: 1e-2 });
  return tf.train.adam(0.003, 0.9, 0.99, 1e-2);
}

function valuesOf(named: readonly (readonly [string, tf.Tensor])[]): Trained['weights'] {
  return Object.fromEntries(named.map(([name, value]) => [name, Array.from(value.dataSync())]));
}

function changeOf(before: Trained['weights'], after: Trained['weights']): number {
  const changes = Object.entries(before).map(([name, values]) => {
    return Math.max(...values.map((value, i) => Math.abs(after[name]![i]! - value)));
  });
  return Math.max(...changes);
}

function crossEntropy(logits: tf.Tensor, y: tf.Tensor2D): tf.Scalar {
  const labels = tf.oneHot(tf.reshape(y, [-1]) as tf.Tensor1D, VOCABULARY);
  return tf.losses.softmaxCrossEntropy(labels, tf.reshape(logits, [-1, VOCABULARY]));
}

function modelOf({ model: kind, dropout = 0, balanceLoss = 0 }: Case): tf.LayersModel {
  if (kind === 'integers') return withIntegers(VOCABULARY);
  const model = kind === 'experts' ? withExperts(balanceLoss) : kind === 'gpt2' ? ofGpt2(dropout) : ofLlama();
  const random = seededRandom(7);
  for (const weight of model.weights) {
    const { shape, size } = weight.read();
    const values = Array.from({ length: size }, () => 0.6 * random() - 0.3);
    if (shape.length > 1) tf.tidy(() => void weight.write(tf.tensor(values, shape)));
  }
  return model;
}

function ofGpt2(dropout: number): tf.LayersModel {
  const dropouts = { resid_pdrop: dropout, embd_pdrop: dropout, attn_pdrop: dropout };
  return gpt2({
    ...dropouts,
    vocab_size: VOCABULARY,
    n_positions: LENGTH,
    n_embd: 16,
    n_layer: 2,
    n_head: 4,
  });
}

/** Two heads of keys for four of queries, so that a context axis of two goes by heads only if whole. */
function ofLlama(): tf.LayersModel {
  return llama({
    vocab_size: VOCABULARY,
    hidden_size: 16,
    intermediate_size: 20,
    num_hidden_layers: 2,
    num_attention_heads: 4,
    num_key_value_heads: 2,
    max_position_embeddings: LENGTH,
  });
}

/** The load-balancing loss of a batch is not the mean of those of its parts, so most leave it out. */
function withExperts(balanceLoss: number): tf.LayersModel {
  const moe = { experts: 4, topK: 2, sharedExperts: 1, balanceLoss, zLoss: 0.02 };
  const block = (name: string) =>
    transformerBlock({ name, heads: 4, causal: true, rotary: true, innerUnits: 12, moe });
  const input = tf.input({ shape: [null] });
  let x = tokenEmbedding({ name: 'wte', vocabularySize: VOCABULARY, units: 16 }).apply(input);
  for (const name of ['h.0', 'h.1']) x = block(name).apply(x);
  x = tf.layers.layerNormalization({ name: 'ln_f' }).apply(x);
  const logits = tf.layers.dense({ name: 'logits', units: VOCABULARY }).apply(x);
  return tf.model({ inputs: input, outputs: logits as tf.SymbolicTensor });
}

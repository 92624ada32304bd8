// Trains models by the plan 'auto', some of whose layers stay whole. The arguments are names of cases.
// Returns losses, whole weights, and the dims of the pieces by variable.
import * as tf from '@tensorflow/tfjs';
import type { RankPlace } from '@acc/contract';
import { Accelerator, cut, isAccError, parallelize, setSeed, type AcceleratorOptions } from '@acc/core';
import { seededRandom } from '@acc/testkit';
import { gpt2, llama, lora, multiHeadAttention } from '@acc/transformer';

const [ROWS, LENGTH, VOCABULARY] = [6, 4, 12];

export interface Trained {
  readonly losses: readonly number[];
  readonly weights: readonly number[][];
  /** How many elements of a moment of each trained weight this rank has, by name. */
  readonly held: Record<string, number>;
}

export interface Report {
  readonly trained: Record<string, Trained>;
  /** Errors by what was stated after `prepare`. */
  readonly late: Record<string, string>;
  /** Of the error for a model of which the ranks can share nothing. */
  readonly nothing: { readonly code: string; readonly message: string };
}

const shape = { vocab_size: VOCABULARY, hidden_size: 24, intermediate_size: 36, num_hidden_layers: 2 };
const llamaOf = (heads: number, kvHeads: number) =>
  llama({
    ...shape,
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
    max_position_embeddings: LENGTH,
  });
const gpt2Of = (n_head: number, dropout = 0, vocab_size = VOCABULARY) =>
  gpt2({
    vocab_size,
    n_positions: LENGTH,
    n_embd: 24,
    n_layer: 1,
    n_head,
    resid_pdrop: dropout,
    embd_pdrop: dropout,
    attn_pdrop: dropout,
  });

const perceptron = () =>
  tf.sequential({
    layers: [
      tf.layers.embedding({ inputDim: VOCABULARY, outputDim: 6, inputLength: LENGTH, name: 'tokens' }),
      tf.layers.dense({ units: 12, activation: 'relu', name: 'in' }),
      tf.layers.dropout({ rate: 0.1 }),
      tf.layers.dense({ units: 6, name: 'mid' }),
      tf.layers.dense({ units: VOCABULARY, name: 'logits' }),
    ],
  });

const MODELS: Record<string, () => tf.LayersModel> = {
  'one head of keys': () => llamaOf(6, 1),
  'heads of queries': () => gpt2Of(1, 0.2),
  'an uneven vocabulary': () => gpt2Of(6, 0, VOCABULARY + 1),
  'lora of some projections': () =>
    lora(llamaOf(6, 6), { rank: 2, targets: ['**/q_proj', '**/v_proj', '**/down_proj'] }),
  'lora of all projections': () => lora(gpt2Of(6, 0.2), { rank: 2, targets: ['**/c_*'], dropout: 0.1 }),
  'lora of whole heads': () =>
    lora(llamaOf(6, 1), { rank: 2, targets: ['**/q_proj', '**/o_proj', '**/down_proj'] }),
  'lora of a row of layers': () =>
    lora(perceptron(), { rank: 2, targets: ['in', 'mid', 'logits'], dropout: 0.1 }),
};

interface Moment {
  readonly originalName: string;
  readonly variable: tf.Variable;
}

async function train(name: string, options: AcceleratorOptions): Promise<Trained> {
  const accelerator = await Accelerator.create(options);
  setSeed(3);
  const model = parallelize(MODELS[name]!(), 'auto');
  const random = seededRandom(7);
  for (const weight of model.weights) {
    const { size: count, shape: dims, rank } = weight.read();
    const values = Array.from({ length: count }, () => 0.6 * random() - 0.3);
    if (rank > 1) tf.tidy(() => void weight.write(tf.tensor(values, dims)));
  }
  const adam = tf.train.adam(0.003, 0.9, 0.99, 1e-2);
  const [, optimizer] = accelerator.prepare(model, adam);
  const token = (i: number) => Math.floor(VOCABULARY * Math.abs(Math.sin(i * 1.7 + 0.3)));
  const tokens = (from: number) => Array.from({ length: ROWS * LENGTH }, (_, i) => token(from + i));
  const x = tf.tensor2d(tokens(0), [ROWS, LENGTH], 'int32');
  const depth = model.outputs[0]!.shape.at(-1)!;
  const labels = tf.oneHot(tf.tensor1d(tokens(1), 'int32'), depth);
  const losses = Array.from({ length: 6 }, () => {
    const loss = optimizer.minimize(() => {
      const logits = tf.reshape(model.apply(x, { training: true }) as tf.Tensor, [-1, depth]);
      return tf.losses.softmaxCrossEntropy(labels, logits) as tf.Scalar;
    }, true)!;
    const [value] = loss.dataSync();
    loss.dispose();
    return value!;
  });
  const moments = (adam as unknown as { accumulatedFirstMoment: readonly Moment[] }).accumulatedFirstMoment;
  // tfjs numbers equal names, and earlier modules on these ranks have taken some.
  const held = Object.fromEntries(
    moments.map(({ originalName, variable }) => [originalName.replace(/(_\d+)?\/m$/, ''), variable.size]),
  );
  if (Object.keys(held).length < moments.length) throw new Error('Two weights have one name.');
  const weights = model.weights.map((weight) => Array.from(weight.read().dataSync()));
  accelerator.freeMemory();
  tf.disposeVariables();
  tf.dispose([x, labels]);
  return { losses, weights, held };
}

async function nothingSharded(options: AcceleratorOptions): Promise<Report['nothing']> {
  const accelerator = await Accelerator.create(options);
  const optimizer = tf.train.sgd(0.1);
  const attention = multiHeadAttention({ heads: 1, name: 'attn' });
  const model = tf.sequential({
    layers: [tf.layers.reshape({ targetShape: [4, 6], inputShape: [24] }), attention],
  });
  try {
    accelerator.prepare(parallelize(model, 'auto'));
    const x = tf.ones([2, 24]);
    optimizer.minimize(() => tf.sum(model.apply(x) as tf.Tensor));
    return { code: 'none', message: '' };
  } catch (error) {
    if (!isAccError(error)) throw error;
    const { code, message } = error;
    return { code, message };
  } finally {
    accelerator.freeMemory();
    optimizer.dispose();
    tf.disposeVariables();
  }
}

/** The errors of what is stated after `prepare`, by what was tried. A plan that was stated before is none. */
async function lateErrors(options: AcceleratorOptions): Promise<Report['late']> {
  const accelerator = await Accelerator.create(options);
  const whole = perceptron();
  const variable = tf.variable(tf.ones([6, 6]), true, 'alone');
  const planned = parallelize(perceptron(), 'auto');
  accelerator.prepare(whole, planned, [variable]);
  const tried: Record<string, () => unknown> = {
    auto: () => parallelize(whole, 'auto'),
    sequence: () => parallelize(whole, { in: 'sequence' }),
    cut: () => cut(variable, { dim: 0, axis: 'tensor' }),
    replicated: () => parallelize(planned, { in: 'replicated' }),
    again: () => parallelize(planned, 'auto'),
  };
  const errorOf = (act: () => unknown) => {
    try {
      act();
      return 'none';
    } catch (error) {
      if (!isAccError(error)) throw error;
      return `${error.code} ${error.message} ${error.help}`;
    }
  };
  const late = Object.fromEntries(Object.entries(tried).map(([name, act]) => [name, errorOf(act)]));
  accelerator.freeMemory();
  late['after freeMemory'] = errorOf(() => parallelize(whole, 'auto'));
  tf.disposeVariables();
  return late;
}

export default async function autoPlan(names: readonly string[], { size }: RankPlace): Promise<Report> {
  const options: AcceleratorOptions = size > 1 ? { mesh: { tensor: size } } : {};
  const trained: Record<string, Trained> = {};
  for (const name of names) trained[name] = await train(name, options);
  return { trained, nothing: await nothingSharded(options), late: await lateErrors(options) };
}

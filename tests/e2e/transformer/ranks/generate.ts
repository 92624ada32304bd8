// Continues prompts on ranks that have parts of one model. The arguments are the kind of model, the
// options of the Accelerator as JSON, the number of ranks that have the same rows, a token that ends
// texts, and 'object' for a strategy that is given as an object. Reports the tokens of each way, and the errors of calls that differ between ranks.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, parallelize, type AcceleratorOptions, type MeshOptions } from '@acc/core';
import { isAccError } from '@acc/contract';
import { fsdp } from '@acc/fsdp';
import { memoryStats } from '@acc/native';
import { reportResult } from '@acc/testkit';
import { generate, type GenerateOptions } from '@acc/transformer';
import { modelOf, PROMPTS, UNEQUAL, UNSEEDED, WAYS, waysOf, type Kind } from '../generations.js';

export interface Made {
  readonly tokens: Readonly<Record<string, number[][]>>;
  readonly errors: Readonly<Record<string, { readonly code: string; readonly message: string } | null>>;
  readonly leaked: number;
  /** How many bytes more the rank has after all calls, relative to the whole model. */
  readonly kept: number;
}

const kind = process.argv[2] as Kind;
const options = JSON.parse(process.argv[3]!) as AcceleratorOptions & { readonly mesh?: MeshOptions };
const [sameRows, eosToken] = process.argv.slice(4).map(Number) as [number, number];
const strategy = process.argv[6] === 'object' && { strategy: fsdp({ bucketBytes: 4096 }) };
const accelerator = await Accelerator.create({ engine: 'acc', ...options, ...strategy });
const model = modelOf(kind);
if (options.mesh?.tensor) parallelize(model, 'auto');
accelerator.prepare(model, tf.train.sgd(0));
if (options.mesh?.pipeline) divide();
const { processIndex: rank } = accelerator;

const tokens: Record<string, number[][]> = {};
const errors: Record<string, Made['errors'][string]> = {};
const { numTensors } = tf.memory();
const { allocatedBytes } = memoryStats();
for (const [name, prompts, way] of waysOf(Math.floor(rank / sameRows), eosToken)) make(name, prompts, way);
for (const [name, way] of Object.entries(WAYS)) make(name, PROMPTS, way);
make('no seed', PROMPTS, UNSEEDED);
make('no seed again', PROMPTS, UNSEEDED);
for (const useCache of [true, false]) {
  make(`ends ${useCache}`, PROMPTS, { maxNewTokens: 12, eosToken, useCache });
}
if (sameRows > 1) {
  for (const [name, prompts, way] of waysOf(rank, eosToken)) make(`${name} on each rank`, prompts, way);
  const changed = PROMPTS.map((row, i) => (rank === 1 && i === 2 ? row.with(1, 9) : row));
  make('another token', changed, { maxNewTokens: 3 });
  withOtherLogits(() => make('other logits', PROMPTS, UNEQUAL));
}
make('refused', PROMPTS, { maxNewTokens: 3, ...(rank === 1 && { topK: -1 }) });
make('nothing', PROMPTS, { maxNewTokens: 0 });
make('after all that', PROMPTS, { maxNewTokens: 3 });
// A model that is not prepared needs no other rank.
if (accelerator.isMainProcess) make('alone', PROMPTS, { maxNewTokens: 3 }, modelOf(kind));
const modelBytes = model.countParams() * 4;
const made: Made = {
  tokens,
  errors,
  leaked: tf.memory().numTensors - numTensors,
  kept: (memoryStats().allocatedBytes - allocatedBytes) / modelBytes,
};
reportResult(made);

function make(name: string, prompts: number[][], way: GenerateOptions, by = model): void {
  try {
    const made = generate(by, prompts, way);
    tokens[name] = made.arraySync();
    made.dispose();
    errors[name] = null;
  } catch (error) {
    if (!isAccError(error)) throw error;
    errors[name] = { code: error.code, message: error.message };
  }
  if (by !== model) by.dispose();
}

/** Roundings may differ between ranks. These differ so much that each rank would draw other tokens. */
function withOtherLogits(act: () => void): void {
  const { apply } = model;
  model.apply = (...given) => {
    const logits = apply.apply(model, given) as tf.Tensor;
    // Ranks may have a piece of them.
    const whole = tf.tensor(logits.dataSync(), logits.shape);
    return rank % sameRows === 0 ? whole : tf.neg(whole);
  };
  act();
  model.apply = apply;
}

/** Stages have their weights from the first step on. */
function divide(): void {
  const loss = (y: tf.Tensor, logits: tf.Tensor) => tf.mean(tf.mul(y, logits)) as tf.Scalar;
  const step = accelerator.pipelined(model, (y, logits) => loss(y as tf.Tensor, logits as tf.Tensor));
  tf.tidy(() => step(tf.tensor2d(PROMPTS, undefined, 'int32'), tf.ones([PROMPTS.length, 1, 1])));
}

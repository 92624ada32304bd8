// Continues prompts on ranks that have parts of one model. Returns the tokens of each way, and the errors
// of calls that differ between ranks.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, parallelize, type AcceleratorOptions, type MeshOptions } from '@acc/core';
import { isAccError } from '@acc/contract';
import { fsdp } from '@acc/fsdp';
import { memoryStats } from '@acc/native';
import { generate, type GenerateOptions } from '@acc/transformer';
import { disposeOptimizers } from '../../dispose-optimizers.js';
import { modelOf, PROMPTS, UNEQUAL, UNSEEDED, WAYS, waysOf, type Kind } from '../generations.js';

export interface Made {
  readonly tokens: Readonly<Record<string, number[][]>>;
  readonly errors: Readonly<Record<string, { readonly code: string; readonly message: string } | null>>;
  readonly leaked: number;
  /** How many bytes more the rank has after all calls, relative to the whole model. */
  readonly kept: number;
}

export interface Args {
  readonly kind: Kind;
  /** Of the Accelerator. */
  readonly options: AcceleratorOptions & { readonly mesh?: MeshOptions };
  /** The number of ranks that have the same rows. */
  readonly sameRows: number;
  /** Ends texts. */
  readonly eosToken: number;
  /** Whether the strategy is given as an object. */
  readonly isObject: boolean;
}

export default async function generateOn({ kind, options, ...args }: Args): Promise<Made> {
  const strategy = args.isObject && { strategy: fsdp({ bucketBytes: 4096 }) };
  const accelerator = await Accelerator.create({ engine: 'acc', ...options, ...strategy });
  const model = modelOf(kind);
  if (options.mesh?.tensor) parallelize(model, 'auto');
  const optimizer = tf.train.sgd(0);
  accelerator.prepare(model, optimizer);
  if (options.mesh?.pipeline) divide(accelerator, model);
  const { numTensors } = tf.memory();
  const { allocatedBytes } = memoryStats();
  const making = new Recipe(model);
  callAll(making, accelerator.processIndex, args);
  // A model that is not prepared needs no other rank. All have it, because names of weights count up.
  const unprepared = modelOf(kind);
  if (accelerator.isMainProcess) making.make('alone', PROMPTS, { maxNewTokens: 3 }, unprepared);
  else unprepared.dispose();
  const modelBytes = model.countParams() * 4;
  const made: Made = {
    ...{ tokens: making.tokens, errors: making.errors },
    leaked: tf.memory().numTensors - numTensors,
    kept: (memoryStats().allocatedBytes - allocatedBytes) / modelBytes,
  };
  accelerator.freeMemory(model, optimizer);
  disposeOptimizers(optimizer);
  return made;
}

function callAll(making: Recipe, rank: number, { sameRows, eosToken }: Omit<Args, 'kind' | 'options'>): void {
  const make = making.make.bind(making);
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
    const isNegated = rank % sameRows !== 0;
    withOtherLogits(making.model, isNegated, () => make('other logits', PROMPTS, UNEQUAL));
  }
  make('refused', PROMPTS, { maxNewTokens: 3, ...(rank === 1 && { topK: -1 }) });
  make('nothing', PROMPTS, { maxNewTokens: 0 });
  make('after all that', PROMPTS, { maxNewTokens: 3 });
}

/** The tokens and errors of calls, by name. */
class Recipe {
  readonly tokens: Record<string, number[][]> = {};
  readonly errors: Record<string, Made['errors'][string]> = {};

  constructor(readonly model: tf.LayersModel) {}

  make(name: string, prompts: number[][], way: GenerateOptions, by = this.model): void {
    try {
      const made = generate(by, prompts, way);
      this.tokens[name] = made.arraySync();
      made.dispose();
      this.errors[name] = null;
    } catch (error) {
      if (!isAccError(error)) throw error;
      this.errors[name] = { code: error.code, message: error.message };
    }
    if (by !== this.model) by.dispose();
  }
}

/** Roundings may differ between ranks. These differ so much that each rank would draw other tokens. */
function withOtherLogits(model: tf.LayersModel, isNegated: boolean, act: () => void): void {
  const { apply } = model;
  model.apply = (...given) => {
    const logits = apply.apply(model, given) as tf.Tensor;
    // Ranks may have a piece of them.
    const whole = tf.tensor(logits.dataSync(), logits.shape);
    return isNegated ? tf.neg(whole) : whole;
  };
  act();
  model.apply = apply;
}

/** Stages have their weights from the first step on. */
function divide(accelerator: Accelerator, model: tf.LayersModel): void {
  const loss = (y: tf.Tensor, logits: tf.Tensor) => tf.mean(tf.mul(y, logits)) as tf.Scalar;
  const step = accelerator.pipelined(model, (y, logits) => loss(y as tf.Tensor, logits as tf.Tensor));
  tf.tidy(() => step(tf.tensor2d(PROMPTS, undefined, 'int32'), tf.ones([PROMPTS.length, 1, 1])));
}

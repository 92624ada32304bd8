// Trains transformers for a few steps and reports the allocator's peak; if asked, also what each optimizer takes.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, adafactor, adamw, lamb, lion, sgdw } from '@acc/core';
import { memoryStats, resetPeakMemory } from '@acc/native';
import { reportResult } from '@acc/testkit';
import { createTransformer, type HubConfig } from './transformer.js';

export interface MemoryCase {
  readonly config: HubConfig;
  readonly batch: number;
  readonly optimizer: keyof typeof OPTIMIZERS;
  readonly mixedPrecision: 'no' | 'bf16';
  /** Of fsdp. Undefined: the default strategy. */
  readonly stage?: 1 | 2 | 3;
}

/** Bytes beside what there was before the model. */
export interface Measured {
  readonly parameters: number;
  readonly peakBytes: number;
}

/** Float32 tensors of the size of all weights. */
export interface OptimizerMeasured {
  readonly state: number;
  readonly temporary: number;
}

export interface PeakMemory {
  readonly cases: readonly Measured[];
  readonly optimizers: Readonly<Record<string, OptimizerMeasured>>;
}

const OPTIMIZERS = {
  sgd: () => tf.train.sgd(0.01),
  sgdw: () => sgdw(),
  momentum: () => tf.train.momentum(0.01, 0.9),
  adagrad: () => tf.train.adagrad(0.01),
  rmsprop: () => tf.train.rmsprop(0.01),
  adadelta: () => tf.train.adadelta(0.01),
  adam: () => tf.train.adam(0.001),
  adamw: () => adamw(),
  adamax: () => tf.train.adamax(0.001),
  lamb: () => lamb(),
  lion: () => lion(),
  adafactor: () => adafactor(),
} satisfies Record<string, () => tf.Optimizer>;

const STEPS = 2;

async function measure({ config, batch, optimizer: name, ...others }: MemoryCase): Promise<Measured> {
  const { mixedPrecision, stage } = others;
  const accelerator = await Accelerator.create({
    ...{ engine: 'acc', device: 'cpu', mixedPrecision },
    ...(stage && { strategy: 'fsdp', fsdp: { stage } }),
  });
  const before = memoryStats().allocatedBytes;
  const { variables, loss } = createTransformer(config);
  const [, optimizer] = accelerator.prepare(variables, OPTIMIZERS[name]());
  const positions = config.model_type === 'gpt2' ? config.n_positions : config.max_position_embeddings;
  const ids = (seed: number) =>
    tf.randomUniform<tf.Rank.R2>([batch, positions], 0, config.vocab_size, 'int32', seed);
  const [xs, ys] = [ids(1), ids(2)];
  for (let step = 0; step < STEPS; step++) {
    // The first step makes the optimizer's state, and compares ways to multiply.
    if (step === 1) resetPeakMemory();
    optimizer.minimize(() => loss(xs, ys));
  }
  const peakBytes = memoryStats().peakAllocatedBytes - before;
  const parameters = variables.reduce((sum, { size }) => sum + size, 0);
  tf.dispose([xs, ys, ...variables]);
  optimizer.dispose();
  accelerator.freeMemory();
  return { parameters, peakBytes };
}

/** Measures the memory of the state and of a step of an optimizer. */
async function measureOptimizer(make: () => tf.Optimizer): Promise<OptimizerMeasured> {
  const accelerator = await Accelerator.create({ engine: 'acc', device: 'cpu' });
  const variables = tf.tidy(() => [1, 2].map(() => tf.variable(tf.randomNormal([512, 512]))));
  const [, optimizer] = accelerator.prepare(variables, make());
  const { grads } = tf.variableGrads(() => tf.addN(variables.map((each) => each.square().sum<tf.Scalar>())));
  const bytes = variables.reduce((sum, { size }) => sum + 4 * size, 0);
  const before = memoryStats().allocatedBytes;
  optimizer.applyGradients(grads);
  const resting = memoryStats().allocatedBytes;
  resetPeakMemory();
  optimizer.applyGradients(grads);
  const peak = memoryStats().peakAllocatedBytes;
  tf.dispose(grads);
  tf.dispose(variables);
  optimizer.dispose();
  accelerator.freeMemory();
  return { state: (resting - before) / bytes, temporary: (peak - resting) / bytes };
}

const cases: Measured[] = [];
for (const each of JSON.parse(process.argv[2]!) as MemoryCase[]) cases.push(await measure(each));
const optimizers: Record<string, OptimizerMeasured> = {};
if (process.argv[3] === 'optimizers') {
  for (const [name, make] of Object.entries(OPTIMIZERS)) optimizers[name] = await measureOptimizer(make);
}
reportResult({ cases, optimizers } satisfies PeakMemory);
const accelerator = await Accelerator.create({ engine: 'acc', device: 'cpu' });
await accelerator.endTraining();

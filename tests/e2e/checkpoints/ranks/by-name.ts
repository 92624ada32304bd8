// Trains the same tensors element by element in different layouts, and saves. Or continues
// checkpoints of jobs with other sizes and layouts.
import * as tf from '@tensorflow/tfjs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Accelerator, type Strategy } from '@acc/core';
import { disposeOptimizers } from '../../dispose-optimizers.js';
import { isSharded, LAYOUTS, WHOLES, type Layout } from './layouts.js';
import { numbersOf, shardingStrategy, type Shard } from './sharding.js';

const rank = Number(process.env.RANK);
const size = Number(process.env.WORLD_SIZE);

/** Each element of each whole tensor. */
type Values = Record<string, number[]>;

/** The weights and both moments of Adam. */
export interface State {
  readonly weights: Values;
  readonly m: Values;
  readonly v: Values;
}

export interface Outcome {
  /** The values when the checkpoint was made or loaded. */
  readonly at: State;
  /** The values two steps later. */
  readonly after: State;
}

/**
 * By the checkpoint's name, then by the layout into which it was loaded: the result, or the code of
 * the error.
 */
export type Outcomes = Record<string, Record<string, Outcome | string>>;

/** A gradient that depends on the index and the value of the element. */
function loss(shards: readonly Shard[]): tf.Scalar {
  const terms = shards
    .filter(({ variable }) => variable.size > 0)
    .map((shard) => {
      const targets = numbersOf(shard).map(({ name, number }) => Math.sin(number + name.length));
      return shard.variable.sub(tf.tensor(targets, shard.variable.shape)).square().sum();
    });
  return tf.addN([...terms, tf.scalar(0)]) as tf.Scalar;
}

/** A window has two micro-batches. */
async function train(
  accelerator: Accelerator,
  optimizer: tf.Optimizer,
  shards: readonly Shard[],
  microBatches: number,
) {
  const variables = shards.map(({ variable }) => variable);
  for (let i = 0; i < microBatches; i++) {
    accelerator.accumulate(() => optimizer.minimize(() => loss(shards), false, variables));
    await Promise.resolve();
  }
}

/**
 * Gradients of a flat buffer are reduced before they are accumulated, so the accumulated sums are
 * sharded.
 */
function strategyOf(layout: Layout, shards: readonly Shard[]): Strategy {
  const strategy = shardingStrategy(shards.filter(isSharded), size);
  if (layout !== 'flat') return strategy;
  return { ...strategy, traits: { ...strategy.traits, accumulates: 'afterReduction' } };
}

async function start(layout: Layout) {
  const shards = LAYOUTS[layout](rank, size);
  const accelerator = await Accelerator.create({
    // If every rank holds everything, the strategy is data parallelism.
    ...(layout !== 'replicated' && { strategy: strategyOf(layout, shards) }),
    gradientAccumulationSteps: 2,
  });
  const variables = shards.map(({ variable }) => variable);
  const [, optimizer] = accelerator.prepare(variables, tf.train.adam(0.05));
  const end = () => {
    accelerator.freeMemory();
    for (const variable of variables) variable.dispose();
    optimizer.dispose();
  };
  return { shards, accelerator, optimizer, end };
}

async function stateOf(accelerator: Accelerator, optimizer: tf.Optimizer, shards: readonly Shard[]) {
  const slots = (await optimizer.getWeights()).slice(1).map(({ tensor }) => tensor);
  const [weights, m, v] = [
    shards.map(({ variable }) => variable),
    slots.slice(0, shards.length),
    slots.slice(shards.length),
  ].map((tensors) => gathered(accelerator, shards, tensors));
  return { weights: weights!, m: m!, v: v! };
}

/** Whole tensors, built from the shards of all ranks. */
function gathered(accelerator: Accelerator, shards: readonly Shard[], tensors: readonly tf.Tensor[]): Values {
  const pieces = accelerator.gatherObject(
    shards.map((shard, i) => ({ numbers: numbersOf(shard), values: [...tensors[i]!.dataSync()] })),
  );
  const wholes: Values = {};
  for (const { numbers, values } of pieces) {
    numbers.forEach(({ name, number }, i) => ((wholes[name] ??= [])[number] = values[i]!));
  }
  return Object.fromEntries(WHOLES.map(({ name }) => [name, wholes[name]!]));
}

/** @param held The number of micro-batches in a window that is open when the run is saved. */
async function save(folder: string, layout: Layout, held: number): Promise<Outcome> {
  const { shards, accelerator, optimizer, end } = await start(layout);
  await train(accelerator, optimizer, shards, 6 + held);
  const at = await stateOf(accelerator, optimizer, shards);
  await accelerator.saveState(join(folder, `${layout}-${size}-${held}`));
  await train(accelerator, optimizer, shards, 4 - held);
  const after = await stateOf(accelerator, optimizer, shards);
  end();
  return { at, after };
}

async function load(folder: string, name: string, layout: Layout): Promise<Outcome | string> {
  const { shards, accelerator, optimizer, end } = await start(layout);
  try {
    await accelerator.loadState(join(folder, name));
    const at = await stateOf(accelerator, optimizer, shards);
    await train(accelerator, optimizer, shards, 4 - Number(name.at(-1)));
    return { at, after: await stateOf(accelerator, optimizer, shards) };
  } catch (error) {
    return String((error as { code?: string }).code ?? error);
  } finally {
    end();
  }
}

/** The error that each rank got, as JSON. */
async function refusal(
  variables: tf.Variable[],
  optimizer: tf.Optimizer,
  attempt: (accelerator: Accelerator) => Promise<unknown>,
): Promise<string> {
  const accelerator = await Accelerator.create({ strategy: shardingStrategy([], size) });
  accelerator.prepare(variables);
  // Optimizers of ranks that act apart are not compared.
  accelerator.noSync(() => accelerator.prepare(optimizer));
  const problem = await attempt(accelerator).then(
    () => 'nothing',
    ({ code, details }: { code: string; details: object }) => JSON.stringify({ code, ...details }),
  );
  const problems = accelerator.gatherObject([problem]);
  accelerator.freeMemory();
  for (const variable of variables) variable.dispose();
  disposeOptimizers(optimizer);
  return [...new Set(problems)].join(' ');
}

/** The errors, by the kind of mistake. */
async function refusals(folder: string): Promise<Record<string, string>> {
  const place = join(folder, `replicated-${size}-0`);
  const save = (accelerator: Accelerator) => accelerator.saveState(join(folder, 'refused'));
  const named = (...names: string[]) => names.map((name) => tf.variable(tf.zeros([5]), true, name));
  return {
    shapes: await refusal([tf.variable(tf.zeros([2 + rank]), true, 'x')], tf.train.sgd(1), save),
    optimizers: await refusal(named('x'), rank === 0 ? tf.train.adam(1) : tf.train.momentum(1, 0.5), save),
    // 'a' has another shape in the checkpoint.
    names: await refusal(
      rank === 0 ? named('a', 'b') : named('b', 'extra'),
      tf.train.adam(1),
      (accelerator) => accelerator.loadState(place),
    ),
  };
}

export interface Args {
  readonly action: 'save' | 'load';
  readonly folder: string;
  /** Whether a layout loads what every second other layout and number of ranks has saved. */
  readonly isShort: boolean;
}

/** Every pair of layouts and every pair of numbers of ranks occurs. */
function loads(name: string, into: Layout): boolean {
  const [layout, saved] = name.replace('version-1-', '').split('-') as [Layout, string];
  if (name.startsWith('version-1') || (layout === into && Number(saved) === size)) return true;
  const layouts = Object.keys(LAYOUTS);
  return (Number(saved) + size + layouts.indexOf(layout) + layouts.indexOf(into)) % 2 === 1;
}

export default async function byName({ action, folder, isShort }: Args): Promise<Outcomes> {
  const layouts = Object.keys(LAYOUTS) as Layout[];
  const outcomes: Outcomes = {};
  if (action === 'save') {
    for (const layout of layouts) {
      for (const held of [0, 1]) {
        outcomes[`${layout}-${size}-${held}`] = { [layout]: await save(folder, layout, held) };
      }
    }
    outcomes['refused'] = size > 1 ? await refusals(folder) : {};
  } else {
    for (const name of (await readdir(folder)).sort()) {
      outcomes[name] = {};
      const chosen = layouts.filter((layout) => !isShort || loads(name, layout));
      for (const layout of chosen) outcomes[name][layout] = await load(folder, name, layout);
    }
  }
  return outcomes;
}

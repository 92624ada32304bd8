// Trains parts of parameters that ranks hold, element by element, and saves; or goes on from what jobs of other sizes have saved.
import * as tf from '@tensorflow/tfjs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Accelerator } from '@acc/core';
import { reportResult } from '@acc/testkit';
import { numbersOf, rangeOf, shardingStrategy, sliceOf, type Shard } from './sharding.js';

const [action, folder] = process.argv.slice(2) as ['save' | 'load', string];
const rank = Number(process.env.RANK);
const size = Number(process.env.WORLD_SIZE);

/** The same on every rank, whole. */
const replicated = () => tf.variable(tf.ones([3]), true, 'replicated');

function makeShards(): Shard[] {
  const flat = [
    { name: 'a', shape: [3, 4] },
    { name: 'b', shape: [5] },
    { name: 'c', shape: [2, 6] },
  ];
  return [
    sliceOf({ name: 'rows', shape: [7, 5] }, 0, rank, size),
    sliceOf({ name: 'few', shape: [3, 2] }, 0, rank, size),
    sliceOf({ name: 'columns', shape: [3, 6] }, 1, rank, size),
    rangeOf('flat', flat, rank, size),
  ];
}

/** A gradient that depends on which element it is of, and on its value. */
function loss(shards: readonly Shard[], whole: tf.Variable): tf.Scalar {
  const terms = shards
    .filter(({ variable }) => variable.size > 0)
    .map((shard) => {
      const targets = numbersOf(shard).map(({ name, number }) => Math.sin(number + name.length));
      return shard.variable.sub(tf.tensor(targets, shard.variable.shape)).square().sum();
    });
  return tf.addN([...terms, whole.square().sum()]) as tf.Scalar;
}

/** What there is of each whole tensor on all ranks, by name: weights, and the state of Adam. */
interface State {
  readonly weights: Record<string, number[]>;
  readonly moments: Record<string, number[]>[];
}

interface Outcome {
  /** When the checkpoint was made, or loaded. */
  readonly at: State;
  /** Some steps after it was loaded. */
  readonly after: State | undefined;
}

async function run(place: string): Promise<Outcome> {
  const shards = makeShards();
  const whole = replicated();
  const accelerator = await Accelerator.create({ strategy: shardingStrategy(shards, size) });
  const variables = [...shards.map(({ variable }) => variable), whole];
  const [, optimizer] = accelerator.prepare(variables, tf.train.adam(0.05));
  const train = (steps: number) => {
    for (let i = 0; i < steps; i++) optimizer.minimize(() => loss(shards, whole), false, variables);
  };
  const state = async (): Promise<State> => {
    const slots = (await optimizer.getWeights()).slice(1).map(({ tensor }) => tensor);
    const kinds = [variables, slots.slice(0, variables.length), slots.slice(variables.length)];
    const [weights, ...moments] = kinds.map((tensors) => gathered(accelerator, shards, tensors));
    return { weights: weights!, moments };
  };
  if (action === 'save') train(3);
  else await accelerator.loadState(place);
  const at = await state();
  if (action === 'save') await accelerator.saveState(place);
  else train(2);
  const after = action === 'save' ? undefined : await state();
  accelerator.freeMemory();
  for (const variable of variables) variable.dispose();
  optimizer.dispose();
  return { at, after };
}

/** Whole tensors of what ranks have: of `tensors` one for each shard, and the one that is the same everywhere. */
function gathered(accelerator: Accelerator, shards: readonly Shard[], tensors: readonly tf.Tensor[]) {
  const pieces = accelerator.gatherObject(
    shards.map((shard, i) => ({ numbers: numbersOf(shard), values: [...tensors[i]!.dataSync()] })),
  );
  const wholes: Record<string, number[]> = { replicated: [...tensors.at(-1)!.dataSync()] };
  for (const { numbers, values } of pieces) {
    numbers.forEach(({ name, number }, i) => ((wholes[name] ??= [])[number] = values[i]!));
  }
  return wholes;
}

const results: Record<string, Outcome> = {};
if (action === 'save') results[size] = await run(join(folder, String(size)));
else for (const name of (await readdir(folder)).sort()) results[name] = await run(join(folder, name));
reportResult(results);
await (await Accelerator.create()).endTraining();

// Writes and reads models whose tensors ranks hold in different layouts, and measures the memory.
import * as tf from '@tensorflow/tfjs';
import { join } from 'node:path';
import { Accelerator } from '@acc/core';
import { memoryStats, resetPeakMemory } from '@acc/native';
import { isSharded, LAYOUTS, WHOLES, type Layout } from './layouts.js';
import { numbersOf, rangeOf, shardingStrategy, type Shard } from './sharding.js';

const rank = Number(process.env.RANK);
const size = Number(process.env.WORLD_SIZE);

/** Each tensor has 400 kB. */
const COLUMNS = 1000;
const MANY = Array.from({ length: 40 }, (_, i) => ({ name: `w${i}`, shape: [100, COLUMNS] }));

export interface Exported {
  /** The result of getStateDict on each rank, by name. */
  readonly dicts: Record<string, number[]>[];
  /** Whether ranks have the same values after loadModel as before saveModel. */
  readonly isSame: boolean;
  readonly loaded: string[];
}

export interface Memory {
  readonly total: number;
  readonly largest: number;
  /** The peak of native bytes minus their number at the start, as the maximum over ranks. */
  readonly saving: number;
  readonly loading: number;
}

const valueOf = ({ name, number }: { name: string; number: number }) => name.length * 1000 + number;

async function start(shards: readonly Shard[]): Promise<Accelerator> {
  const strategy = shardingStrategy(shards.filter(isSharded), size);
  const accelerator = await Accelerator.create({ strategy, engine: 'acc' });
  for (const shard of shards) {
    if (shard.variable.size === 0) continue;
    tf.tidy(() => shard.variable.assign(tf.tensor(numbersOf(shard).map(valueOf), shard.variable.shape)));
  }
  return accelerator;
}

async function exported(folder: string, layout: Layout): Promise<Exported> {
  const shards = LAYOUTS[layout](rank, size);
  const variables = shards.map(({ variable }) => variable);
  const accelerator = await start(shards);
  const place = join(folder, layout);
  await accelerator.saveModel(variables, place, { maxShardSize: 200 });
  const wholes = accelerator.getStateDict(variables);
  const dict = Object.fromEntries(WHOLES.map(({ name }) => [name, [...wholes[name]!.dataSync()]]));
  tf.dispose(wholes);
  const before = variables.map((variable) => [...variable.dataSync()]);
  for (const variable of variables) tf.tidy(() => variable.assign(tf.zerosLike(variable)));
  const { loaded } = await accelerator.loadModel(variables, place);
  const isSame = variables.every((variable, i) => `${[...variable.dataSync()]}` === `${before[i]}`);
  const dicts = accelerator.gatherObject([dict]);
  const same = accelerator.gatherObject([isSame]).every(Boolean);
  accelerator.freeMemory();
  for (const variable of variables) variable.dispose();
  return { dicts, isSame: same, loaded: [...loaded] };
}

async function memory(folder: string): Promise<Memory> {
  const shards = MANY.map((whole) => rangeOf(`flat-${whole.name}`, [whole], rank, size));
  const variables = shards.map(({ variable }) => variable);
  const accelerator = await start(shards);
  const peakOf = async (work: () => Promise<unknown>) => {
    const { allocatedBytes } = memoryStats();
    resetPeakMemory();
    await work();
    return memoryStats().peakAllocatedBytes - allocatedBytes;
  };
  const place = join(folder, 'many');
  const saving = await peakOf(() => accelerator.saveModel(variables, place));
  const loading = await peakOf(() => accelerator.loadModel(variables, place));
  const peaks = accelerator.gatherObject([{ saving, loading }]);
  accelerator.freeMemory();
  for (const variable of variables) variable.dispose();
  return {
    total: MANY.length * 100 * COLUMNS * 4,
    largest: 100 * COLUMNS * 4,
    saving: Math.max(...peaks.map((each) => each.saving)),
    loading: Math.max(...peaks.map((each) => each.loading)),
  };
}

export interface Result {
  readonly layouts: Record<string, Exported>;
  readonly memory: Memory;
}

export default async function models(folder: string): Promise<Result> {
  const layouts: Record<string, Exported> = {};
  for (const layout of Object.keys(LAYOUTS) as Layout[]) layouts[layout] = await exported(folder, layout);
  return { layouts, memory: await memory(folder) };
}

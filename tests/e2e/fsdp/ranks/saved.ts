// Saves training by each strategy in the middle, or goes on from every save by every strategy.
// The first also measures what saves and loads take.
import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, adafactor, adamw, lion, sgdw, type AcceleratorOptions } from '@acc/core';
import { memoryStats, resetPeakMemory } from '@acc/native';
import { disposeOptimizers } from '../../dispose-optimizers.js';

type FsdpOptions = NonNullable<AcceleratorOptions['fsdp']>;

const WAYS = {
  ddp: undefined,
  stage1: { stage: 1 },
  stage2: { stage: 2 },
  stage3: { bucketBytes: 1 },
} satisfies Record<string, FsdpOptions | undefined>;
export type Way = keyof typeof WAYS;

/** One with state of the shape of the weights, and one that keeps means of rows and columns. */
const OPTIMIZERS = {
  adam: () => tf.train.adam(0.05),
  adafactor: () => adafactor({ learningRate: 0.05, beta1: 0.9 }),
} satisfies Record<string, () => tf.Optimizer>;
type Kind = keyof typeof OPTIMIZERS;

/** Whole weights: at the save, and after the last step. */
export interface Trained {
  readonly saved: number[];
  readonly last: number[];
}

export interface Saved {
  readonly trained: Record<Way, Trained>;
  /** On two ranks. */
  readonly adafactor: Record<Way, Trained>;
  /** Of each way: the model's weights by name as `getStateDict` gives them. */
  readonly stateDicts: Record<Way, Record<string, number[]>>;
  readonly memory: Record<Way, Memory>;
  /** By optimizer with packed state, then by way. */
  readonly packed: Record<string, Record<Way, PackedRun>>;
}

export interface PackedRun {
  /** The bits of all weights after the last step. */
  readonly last: string;
  /** Of the checkpoint of all ranks. */
  readonly fileBytes: number;
}

/** By the save (`2-adam-stage1`: that way on two ranks), then the way that loaded. */
export interface Loaded {
  readonly trained: Record<string, Partial<Record<Way, Trained>>>;
  /** Weights that `loadModel` gave. */
  readonly models: Record<string, Partial<Record<Way, number[]>>>;
  /** Of packed state, by the save: the bits of all weights after the last step. */
  readonly packed: Record<string, string>;
}

/** Bytes of the allocator at the highest, above those before the call: on the rank with the most. */
export interface Memory {
  readonly saveModel: number;
  readonly getStateDict: number;
  readonly loadModel: number;
  readonly saveState: number;
  readonly loadState: number;
}

const ROWS = 12;
const MIDDLE = 4;
const STEPS = 7;

/** A model of 8 MB. */
export const MANY = { tensors: 20, tensorBytes: 400_000 };
/** A model of 160 MB. */
export const LARGE = { tensors: 40, tensorBytes: 4_000_000 };

const world = process.env.WORLD_SIZE!;

async function start(way: Way, kind: Kind) {
  const options = WAYS[way] as FsdpOptions | undefined;
  const accelerator = await Accelerator.create({
    gradientAccumulationSteps: 2,
    ...(options && { strategy: 'fsdp', fsdp: options }),
  });
  const { processIndex: rank, numProcesses: size } = accelerator;
  const values = (shape: number[], seed: number) =>
    tf
      .sin(
        tf
          .range(
            0,
            shape.reduce((a, b) => a * b),
          )
          .add(seed),
      )
      .reshape(shape);
  const variables = [[4, 7], [7], [7, 3], [3]].map((shape, i) =>
    tf.variable(values(shape, i), true, `weight${i}`),
  );
  const [w1, b1, w2, b2] = variables as [
    tf.Variable<tf.Rank.R2>,
    tf.Variable,
    tf.Variable<tf.Rank.R2>,
    tf.Variable,
  ];
  const optimizer = OPTIMIZERS[kind]();
  accelerator.prepare(variables, optimizer);
  const step = (index: number) =>
    tf.tidy(() => {
      const rows = ROWS / size;
      const x = values([ROWS, 4], 50 * index).slice([rank * rows], [rows]) as tf.Tensor2D;
      const forward = () => tf.add(tf.matMul(tf.tanh(tf.add(tf.matMul(x, w1), b1)) as tf.Tensor2D, w2), b2);
      accelerator.accumulate(() =>
        optimizer.minimize(() => forward().sub(1).square().mean() as tf.Scalar, false, variables),
      );
    });
  const read = () => variables.flatMap((variable) => [...variable.dataSync()]);
  const end = () => {
    accelerator.freeMemory(...variables, optimizer);
    disposeOptimizers(optimizer);
    tf.dispose(variables);
  };
  return { accelerator, variables, step, read, end };
}

async function save(folder: string, packed: readonly string[]): Promise<Saved> {
  const result = { trained: {}, adafactor: {}, stateDicts: {}, memory: {}, packed: {} } as Saved;
  for (const way of Object.keys(WAYS) as Way[]) {
    result.trained[way] = await saveOne(
      folder,
      { way, kind: 'adam' },
      (whole) => (result.stateDicts[way] = whole),
    );
    if (world === '2') result.adafactor[way] = await saveOne(folder, { way, kind: 'adafactor' });
    result.memory[way] = await measure(folder, way);
  }
  for (const kind of packed) result.packed[kind] = await savePacked(folder, kind);
  if (world === '2') await saveLarge(folder);
  return result;
}

async function saveOne(
  folder: string,
  { way, kind }: { readonly way: Way; readonly kind: Kind },
  onStateDict?: (whole: Record<string, number[]>) => void,
): Promise<Trained> {
  const { accelerator, variables, step, read, end } = await start(way, kind);
  // Windows close after every second step.
  for (let i = 0; i < MIDDLE; i++) step(i);
  const saved = read();
  const name = `${world}-${kind}-${way}`;
  await accelerator.saveState(join(folder, 'runs', name));
  await accelerator.saveModel(variables, join(folder, 'models', name));
  const whole = accelerator.getStateDict(variables);
  onStateDict?.(
    Object.fromEntries(Object.entries(whole).map(([name, tensor]) => [name, [...tensor.dataSync()]])),
  );
  tf.dispose(whole);
  for (let i = MIDDLE; i < STEPS; i++) step(i);
  const trained = { saved, last: read() };
  end();
  return trained;
}

/** Values differ between tensors, and between the elements of one. */
function matrices(accelerator: Accelerator, { tensors, tensorBytes }: typeof MANY): tf.Variable[] {
  const columns = 1000;
  // One by one, so that no rank ever holds all of them whole.
  return Array.from({ length: tensors }, (_, i) => {
    const matrix = tf.tidy(() =>
      tf.variable(
        tf
          .range(0, tensorBytes / 4)
          .add(i)
          .reshape([-1, columns]),
        true,
        `matrix${i}`,
      ),
    );
    return accelerator.prepare([matrix])[0]!;
  });
}

async function measure(folder: string, way: Way): Promise<Memory> {
  const options = WAYS[way] as FsdpOptions | undefined;
  const accelerator = await Accelerator.create({ ...(options && { strategy: 'fsdp', fsdp: options }) });
  const variables = matrices(accelerator, MANY);
  const peakOf = async (work: () => unknown): Promise<number> => {
    accelerator.waitForEveryone();
    const { allocatedBytes } = memoryStats();
    resetPeakMemory();
    await work();
    const peak = memoryStats().peakAllocatedBytes - allocatedBytes;
    return Math.max(...accelerator.gatherObject([peak]));
  };
  const place = join(folder, 'many', `${world}-${way}`);
  const memory = {
    saveModel: await peakOf(() => accelerator.saveModel(variables, `${place}-model`)),
    getStateDict: await peakOf(() => tf.dispose(accelerator.getStateDict(variables))),
    loadModel: await peakOf(() => accelerator.loadModel(variables, `${place}-model`)),
    saveState: await peakOf(() => accelerator.saveState(place)),
    loadState: await peakOf(() => accelerator.loadState(place)),
  };
  accelerator.freeMemory(...variables);
  tf.dispose(variables);
  return memory;
}

async function saveLarge(folder: string): Promise<void> {
  const accelerator = await Accelerator.create({ strategy: 'fsdp' });
  const variables = matrices(accelerator, LARGE);
  await accelerator.saveState(join(folder, 'large'));
  accelerator.freeMemory(...variables);
  tf.dispose(variables);
}

/**
 * Every second way. Which half depends on the way that saved and on both numbers of ranks, so that
 * every pair of ways and every pair of numbers occurs.
 */
function waysThatLoad(from: string): Way[] {
  const [size, , way] = from.split('-') as [string, string, Way];
  const ways = Object.keys(WAYS) as Way[];
  const start = Number(size) + Number(world) + ways.indexOf(way);
  return ways.filter((_, i) => (start + i) % 2 === 0);
}

async function load(folder: string, isShort: boolean): Promise<Loaded> {
  const result: Loaded = { trained: {}, models: {}, packed: {} };
  for (const from of readdirSync(join(folder, 'runs'))) {
    if (isShort && from.startsWith(`${world}-`)) continue;
    const trained: Loaded['trained'][string] = (result.trained[from] = {});
    const models: Loaded['models'][string] = (result.models[from] = {});
    for (const way of waysThatLoad(from)) {
      const { accelerator, variables, step, read, end } = await start(way, from.split('-')[1] as Kind);
      step(0);
      step(1);
      await accelerator.loadModel(variables, join(folder, 'models', from));
      models[way] = read();
      await accelerator.loadState(join(folder, 'runs', from));
      const saved = read();
      for (let i = MIDDLE; i < STEPS; i++) step(i);
      trained[way] = { saved, last: read() };
      end();
    }
  }
  for (const from of readdirSync(join(folder, 'packed')))
    result.packed[from] = await loadPacked(folder, from);
  return result;
}

const PACKED: Readonly<Record<string, () => tf.Optimizer>> = {
  adamw8: () => adamw({ learningRate: 0.125, stateBits: 8 }),
  adamw4: () => adamw({ learningRate: 0.125, stateBits: 4 }),
  lion8: () => lion({ learningRate: 0.125, stateBits: 8 }),
  sgdw4: () => sgdw({ learningRate: 0.125, momentum: 0.875, stateBits: 4 }),
};
/** Whole blocks; blocks that end early, which no number of ranks divides; one that is not packed. */
const PACKED_SHAPES = [[64, 64], [131, 37], [4999], [7]];
const PACKED_STEPS = 6;

/** A run whose gradients are the same powers of two on each rank, so means over ranks are exact. */
async function startPacked(way: Way, kind: string) {
  const options = WAYS[way] as FsdpOptions | undefined;
  const accelerator = await Accelerator.create({ ...(options && { strategy: 'fsdp', fsdp: options }) });
  const values = (shape: number[], seed: number) => {
    const length = tf.util.sizeFromShape(shape);
    const power = (i: number) => (i % 3 === 0 ? -1 : 1) * 2 ** -((i * 37 + seed * 11) % 13);
    return tf.tensor(
      Float32Array.from({ length }, (_, i) => power(i)),
      shape,
    );
  };
  const variables = PACKED_SHAPES.map((shape, i) =>
    tf.tidy(() => tf.variable(values(shape, i), true, `packed${i}`)),
  );
  const optimizer = PACKED[kind]!();
  accelerator.prepare(variables, optimizer);
  const train = (from: number, to: number) => {
    for (let step = from; step < to; step++) {
      const loss = () => tf.addN(variables.map((w, i) => tf.mul(w, values(w.shape, 5 * step + i)).sum()));
      tf.tidy(() => void optimizer.minimize(loss as () => tf.Scalar, false, variables));
    }
  };
  const end = () => {
    const bits = variables.map((w) => Buffer.from(w.dataSync().slice().buffer).toString('hex')).join();
    accelerator.freeMemory(...variables, optimizer);
    disposeOptimizers(optimizer);
    tf.dispose(variables);
    return createHash('sha256').update(bits).digest('hex');
  };
  return { accelerator, train, end };
}

async function savePacked(folder: string, kind: string): Promise<Record<Way, PackedRun>> {
  const runs = {} as Record<Way, PackedRun>;
  for (const way of Object.keys(WAYS) as Way[]) {
    const { accelerator, train, end } = await startPacked(way, kind);
    train(0, PACKED_STEPS / 2);
    const place = join(folder, 'packed', `${world}-${kind}-${way}`);
    await accelerator.saveState(place);
    accelerator.waitForEveryone();
    const files = readdirSync(place, { recursive: true, withFileTypes: true }).filter((each) =>
      each.isFile(),
    );
    const fileBytes = files.reduce((sum, each) => sum + statSync(join(each.parentPath, each.name)).size, 0);
    train(PACKED_STEPS / 2, PACKED_STEPS);
    runs[way] = { last: end(), fileBytes };
  }
  return runs;
}

/** By another way than that of the save. */
async function loadPacked(folder: string, from: string): Promise<string> {
  const [, kind, way] = from.split('-') as [string, string, Way];
  const ways = Object.keys(WAYS) as Way[];
  const { accelerator, train, end } = await startPacked(ways[(ways.indexOf(way) + Number(world)) % 4]!, kind);
  train(0, 1);
  await accelerator.loadState(join(folder, 'packed', from));
  train(PACKED_STEPS / 2, PACKED_STEPS);
  return end();
}

export interface Args {
  readonly phase: 'save' | 'load';
  readonly folder: string;
  /** The optimizers with packed state. */
  readonly packed: readonly string[];
  /** Whether jobs load only what other numbers of ranks have saved. */
  readonly isShort: boolean;
}

export default function saved({ phase, folder, packed, isShort }: Args): Promise<Saved | Loaded> {
  return phase === 'save' ? save(folder, packed) : load(folder, isShort);
}

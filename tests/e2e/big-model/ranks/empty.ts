// Models that are built without memory, prepared by each strategy, beside the same models built whole.
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, initEmptyWeights, isAccError, setSeed, type AcceleratorOptions } from '@acc/core';
import { memoryStats, resetPeakMemory } from '@acc/native';
import { reportResult } from '@acc/testkit';

const WAYS = {
  ddp: {},
  stage2: { strategy: 'fsdp', fsdp: { stage: 2 } },
  stage3: { strategy: 'fsdp', fsdp: { bucketBytes: 1 } },
} satisfies Record<string, AcceleratorOptions>;
export type Way = keyof typeof WAYS;

export interface Values {
  readonly weights: number[][];
  /** A number drawn after the model was built. */
  readonly drawn: number;
  /** The losses of three steps. */
  readonly losses: number[];
}

export interface Result {
  /** The model and the variables of a plain program, built whole. */
  readonly whole: Record<Way, Values>;
  /** Built by initEmptyWeights, before and after the Accelerator was created. */
  readonly emptyBefore: Record<Way, Values>;
  readonly empty: Record<Way, Values>;
  /** Weights that each rank builds from numbers of its own. */
  readonly unequal: Record<Way, { whole: number[][]; empty: number[][] }>;
  /**
   * Weights with `deterministic`, where random operators take their seeds elsewhere. Null on a number of ranks that
   * cannot train so.
   */
  readonly deterministic: { readonly whole: number[][]; readonly empty: number[][] } | null;
  /** The most bytes that were allocated at a time while stage 3 prepared, and those of one weight. */
  readonly peakBytes: { readonly above: number; readonly shards: number; readonly largest: number };
  readonly loaded: Record<Way, { state: number[][]; model: number[][]; expected: number[][] }>;
  readonly codes: Record<string, string>;
}

const folder = process.argv[2]!;

function createModel(): tf.Sequential {
  const { dense, batchNormalization } = tf.layers;
  return tf.sequential({
    layers: [
      dense({ name: 'a', units: 16, inputShape: [5], activation: 'tanh', kernelInitializer: 'heNormal' }),
      batchNormalization({ name: 'b' }),
      dense({ name: 'c', units: 9, kernelInitializer: 'orthogonal', biasInitializer: 'randomUniform' }),
      dense({ name: 'd', units: 2, useBias: false }),
    ],
  });
}
const createPlain = () => [
  tf.variable(tf.truncatedNormal([3, 7])),
  tf.variable(tf.randomNormal([4]), false),
  tf.variable(tf.ones([6])),
];
const create = () => ({ model: createModel(), plain: createPlain() });
type Created = ReturnType<typeof create>;

const weightsOf = ({ model, plain }: Created) =>
  [...model.weights.map((weight) => weight.read()), ...plain].map((weight) => [...weight.dataSync()]);

function train(accelerator: Accelerator, { model }: Created): number[] {
  const optimizer = accelerator.prepare(tf.train.adam(0.01));
  const losses = [];
  for (let step = 0; step < 3; step++) {
    const x = tf.ones([4, 5]).mul((accelerator.processIndex + 1) / (step + 1));
    const list = model.trainableWeights.map((weight) => weight.read() as tf.Variable);
    const loss = optimizer.minimize(
      () => tf.square(model.apply(x) as tf.Tensor).mean() as tf.Scalar,
      true,
      list,
    );
    losses.push(loss!.dataSync()[0]!);
    tf.dispose([x, loss!]);
  }
  optimizer.dispose();
  return losses;
}

async function run(way: Way, build: () => Created, isBefore = false): Promise<Values> {
  // All names are those of the first model again.
  tf.disposeVariables();
  let created: Created | undefined;
  if (isBefore) {
    await tf.setBackend('cpu');
    setSeed(11);
    created = build();
    await tf.setBackend('acc');
  }
  const accelerator = await Accelerator.create(WAYS[way]);
  if (!created) {
    setSeed(11);
    created = build();
  }
  const drawn = Math.random();
  accelerator.prepare(created.model, created.plain);
  const weights = weightsOf(created);
  const losses = train(accelerator, created);
  accelerator.freeMemory(created.model, created.plain);
  return { weights, drawn, losses };
}

async function deterministic(): Promise<Result['deterministic']> {
  if (process.env['WORLD_SIZE'] === '3') return null;
  const weights = async (build: () => Created) => {
    tf.disposeVariables();
    const accelerator = await Accelerator.create({ deterministic: true });
    setSeed(31);
    const created = build();
    accelerator.prepare(created.model, created.plain);
    const found = [...weightsOf(created), [Math.random()]];
    accelerator.freeMemory(created.model, created.plain);
    return found;
  };
  return { whole: await weights(create), empty: await weights(() => initEmptyWeights(create)) };
}

async function unequal(way: Way): Promise<{ whole: number[][]; empty: number[][] }> {
  const accelerator = await Accelerator.create(WAYS[way]);
  const weights = (build: () => Created) => {
    setSeed(accelerator.processIndex);
    const created = build();
    accelerator.prepare(created.model, created.plain);
    return weightsOf(created);
  };
  const found = { whole: weights(create), empty: weights(() => initEmptyWeights(create)) };
  accelerator.freeMemory();
  return found;
}

const WIDTH = 384;

async function peak(): Promise<Result['peakBytes']> {
  tf.disposeVariables();
  const accelerator = await Accelerator.create(WAYS.stage3);
  const model = initEmptyWeights(() =>
    tf.sequential({
      layers: [1, 2, 3, 4, 5, 6].map(() => tf.layers.dense({ units: WIDTH, inputShape: [WIDTH] })),
    }),
  );
  const before = memoryStats().allocatedBytes;
  resetPeakMemory();
  accelerator.prepare(model);
  const { peakAllocatedBytes, allocatedBytes } = memoryStats();
  const largest = 4 * (WIDTH * WIDTH + WIDTH);
  const found = { above: peakAllocatedBytes - before, shards: allocatedBytes - before, largest };
  accelerator.freeMemory(model);
  return found;
}

async function loads(way: Way): Promise<Result['loaded'][Way]> {
  const path = join(folder, way);
  tf.disposeVariables();
  let accelerator = await Accelerator.create(WAYS[way]);
  setSeed(21);
  const source = create();
  accelerator.prepare(source.model, tf.train.sgd(0.1));
  const expected = weightsOf({ ...source, plain: [] });
  await accelerator.saveState(join(path, 'run'));
  await accelerator.saveModel(source.model, join(path, 'model'));
  accelerator.freeMemory(source.model, source.plain);
  tf.disposeVariables();

  accelerator = await Accelerator.create(WAYS[way]);
  setSeed(22);
  const resumed = initEmptyWeights(create);
  accelerator.prepare(resumed.model, tf.train.sgd(0.1));
  await accelerator.loadState(join(path, 'run'));
  const state = weightsOf({ ...resumed, plain: [] });
  // Before prepare.
  const model = initEmptyWeights(create);
  await accelerator.loadModel(model.model, join(path, 'model'));
  const loaded = weightsOf({ ...model, plain: [] });
  accelerator.freeMemory();
  return { state, model: loaded, expected };
}

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return isAccError(error) ? error.code : String(error);
  }
  return 'none';
}

async function codes(): Promise<Record<string, string>> {
  tf.disposeVariables();
  const accelerator = await Accelerator.create();
  const model = initEmptyWeights(createModel);
  const x = tf.ones([1, 5]);
  const found = {
    'predict before prepare': codeOf(() => model.predict(x)),
    'a read before prepare': codeOf(() => model.getWeights()[0]!.dataSync()),
    'an asynchronous builder': codeOf(() => initEmptyWeights(() => Promise.resolve(1))),
    'after prepare': codeOf(() => accelerator.prepare(model) && (model.predict(x) as tf.Tensor).dataSync()),
  };
  accelerator.freeMemory(model);
  return found;
}

async function forEach<T>(run: (way: Way) => Promise<T>): Promise<Record<Way, T>> {
  const found: Partial<Record<Way, T>> = {};
  for (const way of Object.keys(WAYS) as Way[]) found[way] = await run(way);
  return found as Record<Way, T>;
}

reportResult({
  whole: await forEach((way) => run(way, create)),
  empty: await forEach((way) => run(way, () => initEmptyWeights(create))),
  emptyBefore: await forEach((way) => run(way, () => initEmptyWeights(create), true)),
  unequal: await forEach(unequal),
  deterministic: await deterministic(),
  peakBytes: await peak(),
  loaded: await forEach(loads),
  codes: await codes(),
} satisfies Result);

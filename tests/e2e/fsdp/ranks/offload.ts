// Trains one network with and without offload to a folder: same numbers, little memory, no files left.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, adafactor, adamw, lamb, lion, type AcceleratorOptions } from '@acc/core';
import { memoryStats, resetPeakMemory } from '@acc/native';
import { disposeOptimizers } from '../../dispose-optimizers.js';

type FsdpOptions = NonNullable<AcceleratorOptions['fsdp']>;

/** The tensors that are offloaded. The folder is that of the run. */
const both = { params: true, optimizer: true } as const;

interface Pair {
  readonly options: FsdpOptions;
  readonly offload: { readonly params?: true; readonly optimizer?: true };
}

const WAYS = {
  stage1: { options: { stage: 1, bucketBytes: 200 }, offload: { optimizer: true } },
  stage2: { options: { stage: 2 }, offload: { optimizer: true } },
  optimizer: { options: { bucketBytes: 1 }, offload: { optimizer: true } },
  params: { options: { bucketBytes: 1 }, offload: { params: true } },
  both: { options: { bucketBytes: 100, limitAllGathers: false }, offload: both },
} satisfies Record<string, Pair>;
export type Way = keyof typeof WAYS;
/** For kinds of steps that do not depend on how a stage gathers and reduces. */
const SOME_WAYS: readonly Way[] = ['stage2', 'both'];

interface Kind {
  readonly options?: AcceleratorOptions;
  readonly fsdp?: FsdpOptions;
  readonly optimizer?: () => tf.Optimizer;
  /** The loop reads and clips gradients itself. */
  readonly readsGradients?: boolean;
  /** Whether it trains in every way. Default: in two. */
  readonly isEveryWay?: boolean;
}

const KINDS = {
  sgd: { optimizer: () => tf.train.sgd(0.1) },
  momentum: { optimizer: () => tf.train.momentum(0.1, 0.9) },
  adam: { isEveryWay: true },
  adamw: { optimizer: () => adamw({ learningRate: 0.02, weightDecay: 0.1, excludeFromWeightDecay: ['^b'] }) },
  adagrad: { optimizer: () => tf.train.adagrad(0.1) },
  adadelta: { optimizer: () => tf.train.adadelta(1, 0.9, 1e-4) },
  rmsprop: { optimizer: () => tf.train.rmsprop(0.01, 0.9, 0.3, 1e-10, true) },
  adamax: { optimizer: () => tf.train.adamax(0.02, 0.8, 0.95, 1e-4, 0.1) },
  lamb: { optimizer: () => lamb({ learningRate: 0.02, weightDecay: 0.1 }) },
  adafactor: { optimizer: () => adafactor({ learningRate: 0.02, beta1: 0.9 }), isEveryWay: true },
  lion: { optimizer: () => lion({ learningRate: 0.02 }) },
  clipped: { options: { gradientClipping: { norm: 0.3, value: 0.05 } } },
  // The check of the loss scale reads gradients.
  scaled: { options: { mixedPrecision: 'fp16' } },
  read: { readsGradients: true },
  // On one rank, without offload, nothing of fsdp is used.
  rounded: { fsdp: { mixedPrecision: { param: 'bf16' } } },
  accumulated: {
    options: { gradientAccumulationSteps: 3 },
    optimizer: () => tf.train.momentum(0.1, 0.9),
    isEveryWay: true,
  },
} satisfies Record<string, Kind>;
export type Case = keyof typeof KINDS;

interface Trained {
  /** After each step: the losses of this rank's rows, whole weights. */
  readonly losses: number[];
  readonly weights: number[][];
  readonly leaked: number;
}

export interface Result {
  readonly cases: Record<
    Case,
    Partial<Record<Way, { readonly plain: Trained; readonly offloaded: Trained }>>
  >;
  /** By the way that saved, then the way that loaded: what follows, and what followed the save. */
  readonly resumed: Record<string, { readonly found: number[]; readonly expected: number[] }>;
  /** Old values that a program has kept, beside what they must be. */
  readonly kept: { readonly found: number[]; readonly expected: number[] };
  readonly memory: Memory;
  /** Files in the folder after each Accelerator. */
  readonly left: string[];
}

/** Where a run keeps its files. */
interface Place {
  readonly folder: string;
  /** The folder of what is offloaded. */
  readonly files: string;
  /** Files that an Accelerator left. */
  readonly left: string[];
}

const ROWS = 12;
const STEPS = 6;

const values = (shape: readonly number[], seed: number) =>
  tf.tidy(() =>
    tf
      .sin(tf.range(0, tf.util.sizeFromShape([...shape])).add(seed))
      .mul(0.7)
      .reshape([...shape]),
  );
const numbers = (tensors: readonly tf.Tensor[]) => tensors.flatMap((tensor) => [...tensor.dataSync()]);

async function start({ files, left }: Place, kind: Kind, options: FsdpOptions | undefined) {
  const accelerator = await Accelerator.create({
    ...kind.options,
    ...(options && { strategy: 'fsdp', fsdp: { ...kind.fsdp, ...options } }),
  });
  const { processIndex: rank, numProcesses: size } = accelerator;
  // The last variable is used by no loss. One has fewer elements than there are ranks.
  const shapes = [[4, 7], [7], [7, 3], [3], [1], [5]];
  const variables = shapes.map((shape, i) =>
    tf.variable(values(shape, i), true, `${shape.length > 1 ? 'w' : 'b'}${i}`),
  );
  const [w1, b1, w2, b2, scale] = variables as [
    tf.Variable<tf.Rank.R2>,
    tf.Variable,
    tf.Variable<tf.Rank.R2>,
    tf.Variable,
    tf.Variable,
  ];
  const optimizer = kind.optimizer?.() ?? tf.train.adam(0.05);
  accelerator.prepare(variables, optimizer);
  const step = (index: number): number =>
    tf.tidy(() => {
      const rows = ROWS / size;
      const x = values([ROWS, 4], 50 * index).slice([rank * rows], [rows]) as tf.Tensor2D;
      const hidden = tf.tidy(() => x);
      const loss = () =>
        tf
          .add(tf.matMul(tf.tanh(tf.add(tf.matMul(hidden, w1), b1).mul(scale)) as tf.Tensor2D, w2), b2)
          .sub(1)
          .square()
          .mean() as tf.Scalar;
      if (kind.readsGradients) return ownStep(loss);
      const minimize = () => optimizer.minimize(loss, true, variables)!;
      const cost = kind.options?.gradientAccumulationSteps ? accelerator.accumulate(minimize) : minimize();
      return cost.dataSync()[0]!;
    });
  /** Returns the loss, plus the elements of a clipped gradient. */
  function ownStep(loss: () => tf.Scalar): number {
    const { value, grads } = tf.variableGrads(loss, variables);
    const before = numbers([grads['w0']!, grads['b1']!]);
    accelerator.clipGradNorm(grads, 0.2);
    const after = numbers([grads['w0']!]);
    optimizer.applyGradients(grads);
    return [value.dataSync()[0]!, ...before, ...after].reduce((sum, each) => sum + each);
  }
  const read = () => numbers(variables);
  const end = () => {
    accelerator.freeMemory(...variables, optimizer);
    disposeOptimizers(optimizer);
    tf.dispose(variables);
    const own = `rank${rank}-`;
    if (existsSync(files)) left.push(...readdirSync(files).filter((name) => name.includes(own)));
  };
  return { accelerator, variables, optimizer, step, read, end };
}

async function train(place: Place, kind: Kind, options: FsdpOptions): Promise<Trained> {
  const { step, read, end } = await start(place, kind, options);
  const trained: Trained = { losses: [], weights: [], leaked: 0 };
  let before = 0;
  for (let i = 0; i < STEPS; i++) {
    if (i === 3) before = tf.memory().numTensors;
    trained.losses.push(step(i));
    trained.weights.push(read());
  }
  const leaked = tf.memory().numTensors - before;
  end();
  return { ...trained, leaked };
}

/** Saves and loads with and without offload, in the same stage. */
async function resume(place: Place): Promise<Result['resumed']> {
  const { folder, files } = place;
  const plain: FsdpOptions = { bucketBytes: 1 };
  const ways = { plain, offloaded: { ...plain, offload: { ...both, to: files } } };
  const followed: Record<string, number[]> = {};
  const models: Record<string, number[]> = {};
  for (const [name, options] of Object.entries(ways)) {
    const { accelerator, variables, step, read, end } = await start(place, {}, options);
    for (let i = 0; i < 3; i++) step(i);
    await accelerator.saveState(join(folder, name));
    await accelerator.saveModel(variables, join(folder, `${name}-model`));
    const whole = accelerator.getStateDict(variables);
    models[name] = numbers(Object.values(whole));
    tf.dispose(whole);
    for (let i = 3; i < 6; i++) step(i);
    followed[name] = read();
    end();
  }
  const resumed: Record<string, { found: number[]; expected: number[] }> = {};
  for (const from of Object.keys(ways)) {
    for (const [to, options] of Object.entries(ways)) {
      const { accelerator, variables, step, read, end } = await start(place, {}, options);
      step(9);
      await accelerator.loadModel(variables, join(folder, `${from}-model`));
      resumed[`the model of ${from} under ${to}`] = { found: read(), expected: models['plain']! };
      await accelerator.loadState(join(folder, from));
      for (let i = 3; i < 6; i++) step(i);
      resumed[`${from} under ${to}`] = { found: read(), expected: followed['plain']! };
      end();
    }
  }
  return resumed;
}

/** Clones of state, reads of it between steps, and values that a program assigns to variables and state. */
async function keep(place: Place): Promise<Result['kept']> {
  const found: number[][] = [];
  for (const options of [undefined, { ...both, to: place.files }]) {
    const { variables, optimizer, step, read, end } = await start(
      place,
      {},
      { bucketBytes: 1, ...(options && { offload: options }) },
    );
    step(0);
    const state = (await optimizer.getWeights()).slice(1).map(({ tensor }) => tensor as tf.Variable);
    const clones = state.map((tensor) => tensor.clone());
    const before = state.map((tensor) => tensor.add(1));
    step(1);
    tf.tidy(() => variables[1]!.assign(values([7], 40)));
    step(2);
    const shown = [...numbers(clones), ...numbers(before), ...numbers(state), ...read()];
    tf.dispose([clones, before]);
    // State that was just read gets other values, and state that has a clone without memory.
    const later = state.map((tensor) => tensor.clone());
    for (const [i, tensor] of state.entries()) {
      if (i % 2 === 0) tensor.dataSync();
      tf.tidy(() => tensor.assign(tf.fill(tensor.shape, 9 + i)));
    }
    step(3);
    shown.push(...numbers(later), ...numbers(state), ...read());
    for (const tensor of state) tf.tidy(() => tensor.assign(values(tensor.shape, 3).square()));
    shown.push(...numbers(state));
    step(4);
    found.push([...shown, ...numbers(later), ...numbers(state), ...read()]);
    tf.dispose(later);
    end();
  }
  return { found: found[1]!, expected: found[0]! };
}

export interface Memory {
  /** Bytes of this rank's parameters, state and gradients. */
  readonly stateBytes: number;
  readonly restingBytes: number;
  readonly peakBytes: number;
  /** Of the file of this rank. */
  readonly fileBytes: number;
  readonly pieceBytes: number;
}

const LAYERS = 24;
const WIDTH = 256;

/** A deep network of small layers: what this process allocates in a step. */
async function measure({ files }: Place): Promise<Memory> {
  const accelerator = await Accelerator.create({
    strategy: 'fsdp',
    fsdp: { bucketBytes: 1, offload: { ...both, to: files } },
  });
  const { numProcesses: size, processIndex: rank } = accelerator;
  const layers: tf.Variable<tf.Rank.R2>[] = [];
  const optimizer = tf.train.adam(0.001);
  accelerator.prepare(optimizer);
  const before = memoryStats().allocatedBytes;
  for (let i = 0; i < LAYERS; i++) {
    layers.push(
      tf.tidy(() => tf.variable(values([WIDTH, WIDTH], i).mul(0.1) as tf.Tensor2D, true, `layer${i}`)),
    );
    accelerator.prepare([layers[i]!]);
  }
  for (let i = 0; i < 3; i++) {
    if (i === 2) resetPeakMemory();
    tf.tidy(() => {
      const loss = () => {
        let x: tf.Tensor2D = tf.ones([2, WIDTH]);
        for (const layer of layers) x = tf.tanh(tf.matMul(x, layer) as tf.Tensor2D);
        return x.mean() as tf.Scalar;
      };
      optimizer.minimize(loss, false, layers);
    });
  }
  const [own] = readdirSync(files).filter((name) => name.includes(`rank${rank}-`));
  const layerBytes = 4 * WIDTH * WIDTH;
  const memory = {
    stateBytes: (4 * LAYERS * layerBytes) / size,
    restingBytes: memoryStats().allocatedBytes - before,
    peakBytes: memoryStats().peakAllocatedBytes - before,
    fileBytes: statSync(join(files, own!)).size,
    pieceBytes: (4 * layerBytes) / size,
  };
  accelerator.freeMemory(...layers, optimizer);
  disposeOptimizers(optimizer);
  tf.dispose(layers);
  return memory;
}

async function trainAll(place: Place): Promise<Result['cases']> {
  const cases = {} as Result['cases'];
  for (const [name, kind] of Object.entries(KINDS) as [Case, Kind][]) {
    const found: (typeof cases)[Case] = {};
    const plains = new Map<string, Trained>();
    for (const [way, { options, offload }] of Object.entries(WAYS) as [Way, Pair][]) {
      if (!kind.isEveryWay && !SOME_WAYS.includes(way)) continue;
      const key = JSON.stringify(options);
      const plain = plains.get(key) ?? (await train(place, kind, options));
      plains.set(key, plain);
      const offloaded = await train(place, kind, { ...options, offload: { ...offload, to: place.files } });
      found[way] = { plain, offloaded };
    }
    cases[name] = found;
  }
  return cases;
}

export default async function offload(folder: string): Promise<Result> {
  const place: Place = { folder, files: join(folder, 'made', 'files'), left: [] };
  return {
    cases: await trainAll(place),
    resumed: await resume(place),
    kept: await keep(place),
    memory: await measure(place),
    left: place.left,
  };
}

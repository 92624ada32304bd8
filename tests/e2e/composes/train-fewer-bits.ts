// Trains a small model in the way of a row of the table, with the option or the call of a column.
import { join } from 'node:path';
import {
  Accelerator,
  DataLoader,
  linearCrossEntropy,
  parallelize,
  setSeed,
  sgdw,
  type AcceleratorOptions,
  type CompiledStep,
} from '@acc/core';
import { observeCalls } from '@acc/native';
import { prepareQat, quantize, type QuantizeOptions } from '@acc/quantization';
import { loadPretrained, lora } from '@acc/transformer';
import * as tf from '@tensorflow/tfjs';
import { disposeOptimizers } from '../dispose-optimizers.js';
import { tokensOf } from '../transformer/models.js';
import type { Column, Row } from './fewer-bits.js';

/** A row, or the same model with float32 numbers alone. */
export type Way = Row | 'float32' | 'float32, frozen' | 'float32 adapters' | 'float32 logits';

export interface TrainedCell {
  /** Means over all ranks, of each micro-batch. */
  readonly losses: readonly number[];
  readonly weights: Readonly<Record<string, readonly number[]>>;
  /** Of a compiled step. */
  readonly replays: number;
  /** The number of products, or of their factors, in 8 bits. */
  readonly products: number;
  /** With `loaded`: of a new model, before and after it has loaded the saved one. */
  readonly before?: Readonly<Record<string, readonly number[]>>;
  readonly after?: Readonly<Record<string, readonly number[]>>;
}

const BATCH = 8;
/** A compiled step is replayed from the fourth on. */
const STEPS = 4;
const MIDDLE = 2;
const UNITS = 64;
const CLASSES = 8;
const LENGTH = 4;
const VOCABULARY = 32;
/** Of which both are loaded, with the weights packed or in float32. */
export const LLAMA = {
  ...{ vocab_size: VOCABULARY, hidden_size: 64, intermediate_size: 128, num_hidden_layers: 2 },
  ...{ num_attention_heads: 4, num_key_value_heads: 2, max_position_embeddings: 16 },
  tie_word_embeddings: false,
};

/** The layers between are packed. Those before and behind are trained, with gradients through the packed ones. */
const BETWEEN = ['expand', 'contract'];

const QUANTIZED: Partial<Readonly<Record<Way, Omit<QuantizeOptions, 'layers'>>>> = {
  int8: { weights: 'int8' },
  int4: { weights: 'int4', granularity: { group: 32 }, algorithm: 'hqq' },
  nf4: { weights: 'nf4' },
  dynamic: { weights: 'int8', activations: 'dynamic' },
  static: { weights: 'int8', activations: 'static' },
  smoothQuant: { weights: 'int8', activations: 'dynamic', algorithm: 'smoothQuant' },
  awq: { weights: 'int4', granularity: { group: 32 }, algorithm: 'awq' },
  gptq: { weights: 'int4', granularity: { group: 32 }, algorithm: 'gptq' },
};
const CALIBRATED: readonly Way[] = ['static', 'smoothQuant', 'awq', 'gptq'];

const OF_ROW: Partial<Readonly<Record<Way, AcceleratorOptions>>> = {
  int8Products: { mixedPrecision: 'int8', amp: { exclude: [] } },
  fp8Products: { mixedPrecision: 'fp8', amp: { exclude: [] } },
  delayed: { mixedPrecision: 'fp8', amp: { exclude: [], fp8: { scaling: 'delayed' } } },
};

const FSDP: AcceleratorOptions = { strategy: 'fsdp', fsdp: { bucketBytes: 6000 } };

/** @param folder For the values of this cell. */
const OF_COLUMN: Readonly<Record<Column, (folder: string) => AcceleratorOptions>> = {
  plain: () => ({}),
  compile: () => ({}),
  ddp: () => ({}),
  fsdp: () => FSDP,
  tensor: () => ({ mesh: { tensor: 2 } }),
  pipeline: () => ({ mesh: { pipeline: 2 } }),
  accumulation: () => ({ gradientAccumulationSteps: 2 }),
  clipping: () => ({ gradientClipping: { norm: 0.05 } }),
  resumed: () => FSDP,
  offload: (folder) => ({
    strategy: 'fsdp',
    fsdp: { offload: { params: true, optimizer: true, to: join(folder, 'values') } },
  }),
  loaded: () => ({}),
};

const wave = (shape: number[], seed: number): tf.Tensor =>
  tf.tidy(() => tf.sin(tf.range(0, tf.util.sizeFromShape(shape)).mul(1.7).add(seed)).reshape(shape));

/** A model, its data and its loss. */
interface Subject {
  readonly model: tf.LayersModel;
  /** Beside the model. */
  readonly variables: readonly tf.Variable[];
  readonly data: { readonly x: tf.Tensor; readonly y: tf.Tensor };
  loss(y: tf.Tensor, output: tf.Tensor): tf.Scalar;
}

const isAdapted = (way: Way) => way === 'qlora' || way === 'float32 adapters';
const hasLogits = (way: Way) => way === 'crossEntropy' || way === 'float32 logits';
const squared = (y: tf.Tensor, output: tf.Tensor) => tf.mean(tf.square(tf.sub(output, y))) as tf.Scalar;

/** @param seed Of the weights, and of the inputs that calibrate them. @param llama A folder. */
async function modelOf(way: Way, seed: number, llama: string): Promise<tf.LayersModel> {
  setSeed(seed);
  if (isAdapted(way)) {
    const base = await (way === 'qlora' ? loadPretrained(llama, { weights: 'nf4' }) : loadPretrained(llama));
    return lora(base, { rank: 2, targets: ['**/q_proj', '**/v_proj'] });
  }
  const model = denseModel(seed, hasLogits(way) ? [] : ['head']);
  await withFewerBits(model, way, seed);
  return model;
}

function subjectOf(way: Way): Omit<Subject, 'model'> {
  const rows = STEPS * BATCH;
  if (isAdapted(way)) {
    const x = tf.tensor2d(tokensOf(rows, LENGTH, VOCABULARY), undefined, 'int32');
    return { variables: [], data: { x, y: wave([rows, LENGTH, VOCABULARY], 0.9) }, loss: squared };
  }
  const x = wave([rows, UNITS], 0.3);
  if (!hasLogits(way)) return { variables: [], data: { x, y: wave([rows, CLASSES], 0.9) }, loss: squared };
  const vocabulary = tf.tidy(() => tf.variable(wave([CLASSES, UNITS], 5), true, 'vocabulary'));
  const labels = Array.from({ length: rows }, (_, i) => (5 * i) % CLASSES);
  const loss = way === 'crossEntropy' ? linearCrossEntropy : plainCrossEntropy;
  return {
    variables: [vocabulary],
    data: { x, y: tf.tensor1d(labels, 'int32') },
    loss: (y, hidden) => loss(hidden as tf.Tensor2D, vocabulary as unknown as tf.Tensor2D, y as tf.Tensor1D),
  };
}

function plainCrossEntropy(hidden: tf.Tensor2D, weight: tf.Tensor2D, labels: tf.Tensor1D): tf.Scalar {
  const logits = tf.matMul(hidden, weight, false, true);
  return tf.losses.softmaxCrossEntropy(tf.oneHot(labels, CLASSES), logits);
}

function denseModel(seed: number, last: readonly string[]): tf.Sequential {
  const layers = ['first', ...BETWEEN, ...last].map((name, i) =>
    tf.layers.dense({
      name,
      units: name === 'head' ? CLASSES : UNITS,
      activation: name === 'head' ? 'linear' : 'tanh',
      ...(i === 0 && { inputShape: [UNITS] }),
    }),
  );
  const model = tf.sequential({ layers });
  tf.tidy(() => model.setWeights(model.getWeights().map((each, i) => wave(each.shape, seed + i).mul(0.3))));
  return model;
}

async function withFewerBits(model: tf.LayersModel, way: Way, seed: number): Promise<void> {
  if (way === 'qat')
    prepareQat(model, { weights: 'int8', activations: 'static', observer: 'minMax', layers: BETWEEN });
  // As those that are packed.
  if (way === 'float32, frozen') for (const name of BETWEEN) model.getLayer(name).trainable = false;
  const options = QUANTIZED[way];
  if (!options) return;
  const calibration = CALIBRATED.includes(way) ? [wave([16, UNITS], seed)] : undefined;
  await quantize(model, { ...options, layers: BETWEEN, ...(calibration && { calibration }) });
  tf.dispose(calibration ?? []);
}

interface Run {
  readonly options: AcceleratorOptions;
  readonly seed: number;
  /** Saves there after half of the steps, and stops; or goes on from there. */
  readonly stopsAt?: string;
  readonly startsAt?: string;
}

/** Folders: of this cell, and of the base that adapters need. */
export interface Folders {
  readonly own: string;
  readonly llama: string;
}

/** @param isAlone Whether one process does the same, without the ranks of the column. */
export async function trainCell(
  way: Way,
  column: Column,
  folders: Folders,
  isAlone = false,
): Promise<TrainedCell> {
  const options = isAlone && column !== 'clipping' ? {} : OF_COLUMN[column](folders.own);
  const run = { options: { ...OF_ROW[way], ...options }, seed: 2 };
  if (column !== 'resumed' || isAlone) return await trainRun(way, column, run, folders);
  const place = join(folders.own, 'state');
  const first = await trainRun(way, column, { ...run, stopsAt: place }, folders);
  const second = { options: { ...OF_ROW[way] }, seed: 9, startsAt: place };
  const { losses, ...others } = await trainRun(way, column, second, folders);
  return { ...others, losses: [...first.losses, ...losses] };
}

async function trainRun(way: Way, column: Column, run: Run, folders: Folders): Promise<TrainedCell> {
  const accelerator = await Accelerator.create({
    engine: 'acc',
    dataLoader: { splitBatches: true, shuffle: false },
    ...run.options,
  });
  const model = await modelOf(way, run.seed, folders.llama);
  const subject = { model, ...subjectOf(way) };
  const { variables, data } = subject;
  const stateBits = way === 'state8' ? 8 : way === 'state4' ? 4 : 32;
  const optimizer = sgdw({ learningRate: 0.1, momentum: 0.9, stateBits });
  try {
    if (column === 'tensor') parallelize(model, 'auto');
    const batchSize = BATCH / accelerator.gradientAccumulationSteps;
    const loader = new DataLoader(data, { batchSize });
    accelerator.prepare(model, ...(variables.length > 0 ? [[...variables]] : []), optimizer);
    const batches = accelerator.prepare(loader);
    if (run.startsAt !== undefined) await accelerator.loadState(run.startsAt);
    const training = { ...subject, optimizer, batches };
    const trained = await counted(() => takeSteps(accelerator, training, column, run.stopsAt));
    const weights = { ...valuesOf(accelerator, model), ...Object.fromEntries(variables.map(read)) };
    const again = column === 'loaded' ? await loadedAgain(accelerator, model, way, folders) : {};
    return { ...trained, weights, ...again };
  } finally {
    tf.dispose([data, [...variables]]);
    accelerator.freeMemory();
    disposeOptimizers(optimizer);
    model.dispose();
    tf.disposeVariables();
  }
}

async function counted<T extends object>(train: () => Promise<T>): Promise<T & { products: number }> {
  let products = 0;
  const end = observeCalls((name, args) => {
    const isFloat8 = name === 'aten::_to_copy' && String(args[1]).startsWith('float8');
    if (isFloat8 || name === 'acc::int8_matmul') products++;
  });
  try {
    return { ...(await train()), products };
  } finally {
    end();
  }
}

const read = (variable: tf.Variable) => [variable.name, Array.from(variable.dataSync())];

function valuesOf(accelerator: Accelerator, model: tf.LayersModel): Record<string, number[]> {
  const whole = accelerator.getStateDict(model);
  const values = Object.entries(whole).map(([name, each]) => [name, Array.from(each.dataSync())]);
  tf.dispose(whole);
  return Object.fromEntries(values) as Record<string, number[]>;
}

interface Training extends Subject {
  readonly optimizer: tf.Optimizer;
  readonly batches: unknown;
}

async function takeSteps(
  accelerator: Accelerator,
  training: Training,
  column: Column,
  stopsAt: string | undefined,
): Promise<Pick<TrainedCell, 'losses' | 'replays'>> {
  const step = stepOf(accelerator, training, column);
  const losses: number[] = [];
  for await (const { x, y } of training.batches as AsyncIterable<Subject['data']>) {
    const ofRank = accelerator.accumulate(() => step(x, y));
    losses.push(tf.tidy(() => accelerator.reduce(ofRank, 'mean').dataSync()[0]!));
    tf.dispose([ofRank, x, y]);
    if (stopsAt === undefined || losses.length < MIDDLE) continue;
    await accelerator.saveState(stopsAt);
    break;
  }
  return { losses, replays: (step as Partial<CompiledStep<never[], unknown>>).replays ?? 0 };
}

type Step = (x: tf.Tensor, y: tf.Tensor) => tf.Scalar;

function stepOf(accelerator: Accelerator, { model, optimizer, loss }: Training, column: Column): Step {
  if (column === 'pipeline') {
    const [first, second, ...others] = model.layers.filter(({ weights }) => weights.length > 0);
    const stages = [[first!, second!], others].map((layers) => layers.map(({ name }) => name));
    return accelerator.pipelined(model, loss, { microBatches: 2, stages }) as Step;
  }
  const step: Step = (x, y) =>
    optimizer.minimize(() => loss(y, model.apply(x, { training: true }) as tf.Tensor), true)!;
  return column === 'compile' ? accelerator.compile(step) : step;
}

/** Saves the model, and loads it into a new one that is made in the same way from other values. */
async function loadedAgain(
  accelerator: Accelerator,
  model: tf.LayersModel,
  way: Way,
  { own, llama }: Folders,
): Promise<Pick<TrainedCell, 'before' | 'after'>> {
  const place = join(own, 'model');
  await accelerator.saveModel(model, place);
  accelerator.waitForEveryone();
  const other = await modelOf(way, 9, llama);
  const before = valuesOf(accelerator, other);
  await accelerator.loadModel(other, place);
  const after = valuesOf(accelerator, other);
  other.dispose();
  return { before, after };
}

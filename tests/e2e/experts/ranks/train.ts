// Trains a model with experts on a mesh.
import { join } from 'node:path';
import { isAccError } from '@acc/contract';
import { Accelerator, type AcceleratorOptions } from '@acc/core';
import * as tf from '@tensorflow/tfjs';
import { disposeOptimizers } from '../../dispose-optimizers.js';
import {
  batchOf,
  CASES,
  expertsOf,
  fitted,
  HALF,
  lossOf,
  modelOf,
  optimizerOf,
  STEPS,
  trainSteps,
  UNDIVIDED,
  weightsOf,
  type Case,
  type Trained,
} from '../model.js';

export interface OnRank extends Trained {
  readonly leaked: number;
  readonly leakedBytes: number;
  /** The elements of all weights, and those for which this rank's optimizer has state. */
  readonly elements: number;
  readonly stateElements: number;
  /** A weight of the experts, read outside of a step. */
  readonly read: number[];
}

export interface Report {
  readonly cases: Readonly<Record<string, OnRank>>;
  readonly resumed?: { readonly losses: number[] };
  readonly half?: { readonly losses: number[]; readonly weights: Record<string, number[]> };
  readonly fit?: {
    readonly losses: number[];
    readonly predicted: number[];
    readonly weights: Record<string, number[]>;
  };
  readonly refusals?: Readonly<Record<string, string>>;
}

export interface Args {
  readonly mesh: Mesh;
  /** Of the cases to train. */
  readonly names: readonly string[];
  /** Of a run of one process, to resume, and to save into. Without it, only cases are trained. */
  readonly folder?: string;
}

type Mesh = Readonly<Record<string, number>>;

export default async function trainExperts({ mesh, names, folder }: Args): Promise<Report> {
  const cases: Record<string, OnRank> = {};
  for (const name of names) cases[name] = await train(CASES[name]!, mesh);
  return { cases, ...(folder !== undefined && (await others(mesh, folder))) };
}

/** Frees a model, its optimizer and all other variables. */
function end(accelerator: Accelerator, model: tf.LayersModel, optimizer: tf.Optimizer): void {
  accelerator.freeMemory(model, optimizer);
  disposeOptimizers(optimizer);
  tf.disposeVariables();
}

async function train(given: Case, mesh: Mesh): Promise<OnRank> {
  const { microBatches = 1, clipNorm, checkpointEvery } = given;
  const accelerator = await create(mesh, {
    gradientAccumulationSteps: microBatches,
    ...(clipNorm !== undefined && { gradientClipping: { norm: clipNorm } }),
    ...(checkpointEvery !== undefined && { checkpointEvery }),
  });
  const [model, optimizer] = accelerator.prepare(modelOf(given), optimizerOf(given));
  const losses: number[] = [];
  let dropped = 0;
  let before = memory();
  for (let step = 0; step < STEPS; step++) {
    if (step === 3) before = memory();
    tf.tidy(() => {
      for (let micro = 0; micro < microBatches; micro++) {
        const batch = batchOf(step * microBatches + micro, accelerator.processIndex);
        const own = accelerator.accumulate(() => optimizer.minimize(() => lossOf(model, batch), true)!);
        dropped += expertsOf(model).droppedTokens;
        const mean = accelerator.reduce(own, 'mean');
        if (micro === microBatches - 1) losses.push(mean.dataSync()[0]!);
      }
    });
  }
  const after = memory();
  const total = tf.tidy(() => accelerator.reduce(tf.scalar(dropped), 'sum').dataSync()[0]!);
  const { accumulatedFirstMoment: state = [] } = optimizer as unknown as {
    accumulatedFirstMoment?: { variable: tf.Variable }[];
  };
  const kernel = model.weights.find(({ originalName }) => originalName.endsWith('experts/c_fc/kernel'))!;
  const read = Array.from(kernel.read().dataSync());
  const result = {
    losses,
    weights: weightsOf(accelerator, model),
    dropped: total,
    leaked: after.numTensors - before.numTensors,
    leakedBytes: after.allocatedBytes - before.allocatedBytes,
    elements: model.countParams(),
    stateElements: state.reduce((sum, { variable }) => sum + variable.size, 0),
    read,
  };
  end(accelerator, model, optimizer);
  return result;
}

async function others(mesh: Mesh, folder: string): Promise<Omit<Report, 'cases'>> {
  return {
    resumed: await resumed(mesh, folder),
    half: await half(mesh),
    fit: await fit(mesh),
    refusals: await refusals(mesh),
  };
}

async function resumed(mesh: Mesh, folder: string): Promise<Report['resumed']> {
  const accelerator = await create(mesh);
  const [model, optimizer] = accelerator.prepare(modelOf(UNDIVIDED), optimizerOf());
  await accelerator.loadState(join(folder, 'alone'));
  const steps = [5, 6, 7, 8, 9];
  const losses = trainSteps(accelerator, { model, optimizer }, { steps, parts: [accelerator.processIndex] });
  await accelerator.saveState(join(folder, 'ranks'));
  end(accelerator, model, optimizer);
  return { losses };
}

async function half(mesh: Mesh): Promise<Report['half']> {
  const accelerator = await create(mesh, { mixedPrecision: 'fp16', amp: { lossScale: { initial: 1024 } } });
  const [model, optimizer] = accelerator.prepare(modelOf(HALF), optimizerOf());
  const parts = [accelerator.processIndex];
  const losses = trainSteps(
    accelerator,
    { model, optimizer },
    { steps: Array.from({ length: STEPS }, (_, i) => i), parts },
  );
  const weights = weightsOf(accelerator, model);
  end(accelerator, model, optimizer);
  return { losses, weights };
}

async function fit(mesh: Mesh): Promise<Report['fit']> {
  const accelerator = await create(mesh, { dataLoader: { splitBatches: true } });
  const model = modelOf(UNDIVIDED);
  model.compile({ optimizer: optimizerOf(), loss: 'meanSquaredError' });
  accelerator.prepare(model);
  const told = await fitted(model);
  const weights = weightsOf(accelerator, model);
  end(accelerator, model, model.optimizer);
  return { ...told, weights };
}

async function refusals(mesh: Mesh): Promise<Report['refusals']> {
  const accelerator = await create(mesh);
  const [model, optimizer] = accelerator.prepare(modelOf(UNDIVIDED), tf.train.sgd(0.1));
  const kernel = model.weights.find(({ originalName }) => originalName.endsWith('experts/c_fc/kernel'))!;
  const batch = batchOf(0, 0);
  const found = {
    penalty: codeOf(() => {
      const loss = () => tf.add<tf.Scalar>(lossOf(model, batch), tf.sum(tf.square(kernel.read())));
      optimizer.minimize(loss);
    }),
    compile: codeOf(() => void accelerator.compile(() => lossOf(model, batch))()),
    uneven: codeOf(() => void accelerator.prepare(modelOf({ experts: { experts: 3 } }))),
  };
  end(accelerator, model, optimizer);
  return found;
}

function codeOf(fn: () => void): string {
  try {
    tf.tidy(fn);
    return 'none';
  } catch (error) {
    return isAccError(error) ? error.code : String(error);
  }
}

function create(mesh: Mesh, options: AcceleratorOptions = {}): Promise<Accelerator> {
  const strategy = mesh['fsdp'] ? 'fsdp' : 'auto';
  return Accelerator.create({ mesh, strategy, ...options });
}

function memory(): tf.MemoryInfo & { allocatedBytes: number } {
  return tf.memory() as tf.MemoryInfo & { allocatedBytes: number };
}

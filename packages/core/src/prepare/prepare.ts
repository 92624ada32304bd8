import { noteBuffers, requireSameSettings, UnpreparedSteps } from '#platform/several-ranks';
import { engine, Tensor, Variable, type Optimizer } from '@tensorflow/tfjs-core';
import {
  AccError,
  notePrepared,
  type Collective,
  type KernelLayer,
  type Mesh,
  type Plugin,
  type Strategy,
} from '@acc/contract';
import type { Determinism } from '@acc/deterministic';
import { tensorsIn } from '@acc/data';
import type { FitProgress } from '../fit/fit-progress.js';
import type { Turns } from '../fit/turns.js';
import type { Pipelines } from '@acc/pipeline';
import type { TrainingStep } from '../step/training-step.js';
import { optimizerStateOf } from '../presets/kernels.js';
import type { DataPreparation } from './prepare-data.js';
import { placeInData } from './place-in-data.js';
import { checkpointLayers, describe } from '@acc/tape';
import { isModel, nestedLayers } from '@acc/tfjs-internals';
import { requireOurOptimizer } from '../one-tfjs.js';
import { newLife, type Life } from './life.js';
import { prepareModel } from './prepare-model.js';
import { prepareVariables } from './prepare-variables.js';
import type { PreparedObjects } from './prepared-objects.js';
import { Adoption } from './adoption.js';
import { prepareOptimizer } from './prepare-optimizer.js';
import { watchOptimizers } from './unprepared-optimizers.js';

/** Restores an object to its state before preparation. */
export type Undo = () => void;

export interface PreparationOptions {
  readonly trainingStep: TrainingStep;
  readonly strategy: Strategy;
  readonly collective: Collective;
  readonly mesh: Mesh;
  readonly kernels: KernelLayer;
  readonly plugins: readonly Plugin[];
  readonly data: DataPreparation;
  readonly fit: FitProgress;
  readonly turns: Turns;
  readonly pipelines: Pipelines;
  /** Gets the models and optimizers. */
  readonly prepared: PreparedObjects;
  readonly atBoundary: (isEnd?: boolean) => Promise<void>;
  readonly determinism: Determinism | undefined;
  readonly splitBatches: boolean;
  readonly seed: number;
  /**
   * The number of layers in a section that is recomputed in backward. Undefined: all activations
   * are kept.
   */
  readonly checkpointEvery: number | undefined;
}

/** Prepares objects of every kind, each once. Can undo all of it. */
export class Preparation {
  readonly #options: PreparationOptions;
  readonly #done = new WeakSet<object>();
  /** Whether what is prepared may be marked another way again. */
  readonly #life: Life;
  readonly adoption: Adoption;
  readonly prepared: PreparedObjects;
  /** In a job of several ranks. */
  readonly unprepared: UnpreparedSteps | undefined;
  /** Whether any model, variables or optimizer was prepared. */
  #hasAny = false;
  #undos: Undo[] = [];

  constructor(options: PreparationOptions) {
    this.#options = options;
    this.prepared = options.prepared;
    this.#life = newLife(options);
    this.adoption = new Adoption({ ...options, life: this.#life });
    const { strategy, trainingStep, collective } = options;
    if (collective.size > 1 && !strategy.traits.isLocal)
      this.unprepared = new UnpreparedSteps(collective, () => !this.#hasAny);
    this.#undos.push(
      () => this.unprepared?.end(),
      watchOptimizers({
        prepares: (optimizer, names) => this.#prepareUser(optimizer, names),
        appliesAlone: (grads) => trainingStep.sync.isLocal || this.unprepared?.took(grads),
        runAction: (optimizer, inputs, action) => {
          const { recorder } = options.kernels;
          if (recorder) recorder.runAction(inputs, action, { user: optimizer });
          else action(inputs);
        },
      }),
    );
  }

  /**
   * The return value of `prepare` for `object`: the object itself, except for data.
   *
   * @throws AccError `ACC_CANNOT_PREPARE`, `ACC_MODEL_NOT_BUILT`, `ACC_VARIABLES_DIFFER`,
   * `ACC_PIPELINE_OPTIMIZER`, `ACC_TFJS_COPIES`, `ACC_QUANTIZED_PLACE`.
   */
  prepare(object: unknown): unknown {
    for (const plugin of this.#options.plugins) {
      const claimed = plugin.claim?.(object);
      if (claimed !== undefined) return claimed;
    }
    if (isModel(object)) {
      this.prepared.models.add(object);
      this.#once(object, () => prepareModel(object, this.#modelContext()));
      return object;
    }
    if (isOptimizer(object)) {
      requireOurOptimizer(object);
      this.#requireOnlyOptimizer(object);
      this.#prepareOptimizer(object);
      return object;
    }
    if (isVariableList(object)) {
      this.#prepareVariables(object);
      return object;
    }
    const data = this.#options.data.prepare(object);
    if (data !== undefined) return data;
    throw cannotPrepare(object);
  }

  /** Restores the own methods of every prepared object. */
  undoAll(): void {
    for (const undo of this.#undos.reverse()) undo();
    this.#undos = [];
    this.#life.isOver = true;
  }

  #once(object: object, prepare: () => Undo): void {
    this.#hasAny = true;
    if (this.#done.has(object)) return;
    this.#done.add(object);
    this.#undos.push(prepare());
  }

  /** @throws AccError `ACC_PIPELINE_OPTIMIZER` for a second one on a mesh with the axis `pipeline`. */
  #requireOnlyOptimizer(optimizer: Optimizer): void {
    const { optimizers } = this.prepared;
    if (this.#options.mesh.size('pipeline') === 1 || optimizers.length === 0) return;
    if (!optimizers.includes(optimizer)) throw secondOptimizer();
  }

  #prepareOptimizer(optimizer: Optimizer): void {
    const { trainingStep, kernels, strategy, collective } = this.#options;
    if (!this.#done.has(optimizer) && !trainingStep.sync.isOff) requireSameSettings(optimizer, collective);
    if ((optimizerStateOf(optimizer)?.stateBits ?? 32) < 32) trainingStep.limits.require('stateBits');
    strategy.prepareOptimizer?.(optimizer);
    this.prepared.add(optimizer);
    const adopt = (list: readonly Variable[] | undefined) => this.adoption.adopt(optimizer, list);
    const warn = (message: string) => collective.rank === 0 && console.warn(`acc: ${message}`);
    this.#once(optimizer, () => prepareOptimizer(optimizer, { trainingStep, kernels, adopt, warn }));
  }

  /**
   * Prepares an optimizer that trains prepared variables, except if gradients are local. Returns
   * whether this call prepared it.
   */
  #prepareUser(optimizer: Optimizer, names: readonly string[]): boolean {
    const { trainingStep } = this.#options;
    if (this.prepared.has(optimizer) || trainingStep.sync.isLocal) return false;
    const { registeredVariables } = engine();
    const trains = names.some((name) => trainingStep.trained.has(registeredVariables[name]!));
    if (trains) this.#prepareOptimizer(optimizer);
    return trains;
  }

  #prepareVariables(variables: readonly Variable[], layers?: readonly unknown[]): void {
    const { trainingStep, strategy } = this.#options;
    this.#hasAny = true;
    const fresh = variables.filter((variable) => !trainingStep.trained.has(variable));
    // Called even if no variable is new on this rank. Otherwise a rank with new variables could not
    // detect the difference.
    prepareVariables({ strategy, trainingStep, life: this.#life }, fresh, layers);
    noteBuffers(fresh, layers);
    trainingStep.trained.add(fresh);
  }

  /** Calls the strategy first, because it may need a layer for itself. */
  #prepareLayers(layers: readonly unknown[]): Undo {
    const { strategy, kernels } = this.#options;
    notePrepared([...nestedLayers(layers)], this.#life);
    const undos = [strategy.prepareLayers?.(layers), kernels.fuseLayers(layers)];
    return () => {
      for (const undo of undos.reverse()) undo?.();
    };
  }

  #modelContext() {
    const { trainingStep, mesh, data, splitBatches, seed, kernels, checkpointEvery } = this.#options;
    const { fit, turns, atBoundary, determinism, pipelines } = this.#options;
    return {
      pipelines,
      turns,
      progress: fit,
      atBoundary,
      trainingStep,
      mesh,
      ...placeInData(mesh),
      gradientRanks: mesh.gradientRanks,
      splitBatches,
      seed,
      determinism,
      shardDataset: (dataset: object) => data.shardOnce(dataset),
      isPrepared: (dataset: object) => data.isPrepared(dataset),
      shardValidation: data.shardValidation.bind(data),
      prepareVariables: (variables: readonly Variable[], layers: readonly unknown[]) =>
        this.#prepareVariables(variables, layers),
      prepareOptimizer: (optimizer: Optimizer) => {
        this.#requireOnlyOptimizer(optimizer);
        this.#prepareOptimizer(optimizer);
      },
      predict: <T>(compute: () => T) => trainingStep.predict(compute),
      prepareLayers: (layers: readonly unknown[]) => this.#prepareLayers(layers),
      keepLess: (model: object) => {
        const undoFreeing = kernels.freeActivations(model);
        const undoCheckpoints = checkpointEvery && checkpointLayers(model, checkpointEvery);
        return () => {
          if (undoCheckpoints) undoCheckpoints();
          undoFreeing();
        };
      },
    };
  }
}

function isOptimizer(object: unknown): object is Optimizer {
  const candidate = object as Partial<Optimizer> | null;
  return typeof candidate?.applyGradients === 'function' && typeof candidate.minimize === 'function';
}

function secondOptimizer(): AccError {
  return new AccError(
    'ACC_PIPELINE_OPTIMIZER',
    'prepare: a second optimizer was given. With the mesh axis pipeline, an Accelerator has one optimizer for all of its models.',
    {
      help: 'Train all models by one optimizer; to go on with another one, call freeMemory and prepare the model with a new Accelerator. Two models with optimizers of their own, as in a GAN, need a mesh without the axis pipeline.',
    },
  );
}

function isVariableList(object: unknown): object is Variable[] {
  return Array.isArray(object) && object.length > 0 && object.every((item) => item instanceof Variable);
}

function cannotPrepare(object: unknown): AccError {
  const rows = rowsByKey(object);
  if (rows.length > 0) {
    return new AccError(
      'ACC_CANNOT_PREPARE',
      `prepare cannot use these tensors as data, because their numbers of rows differ: ${rows.join(', ')}.`,
      {
        help: 'Give tensors of the same length along dim 0: sample i is row i of each tensor.',
      },
    );
  }
  return new AccError('ACC_CANNOT_PREPARE', `prepare does not accept ${describe(object)}.`, {
    help: ACCEPTED,
  });
}

const ACCEPTED =
  'It accepts a tf.LayersModel, a tf.train optimizer, an LRScheduler, a list of tf.Variable, a tf.data.Dataset, a DataLoader, or an array or record of tensors with the same number of rows.';

export const nothingToPrepare = (): AccError =>
  new AccError('ACC_CANNOT_PREPARE', 'prepare was called without arguments.', { help: ACCEPTED });

/**
 * Row counts of the first tensors for a message, if the object contains only tensors that are not
 * variables.
 */
function rowsByKey(object: unknown): string[] {
  if (object instanceof Tensor || tensorsIn(object).length === 0) return [];
  const entries = Object.entries(object as object).map(([key, item]) => ({ key, tensors: tensorsIn(item) }));
  if (entries.some(({ tensors }) => tensors.length === 0 || tensors.some((x) => x instanceof Variable))) {
    return [];
  }
  const said = entries.flatMap(({ key, tensors }) =>
    tensors.map(({ shape }) => `'${key}' has ${shape[0] ?? 'no'} rows`),
  );
  return said.slice(0, 8);
}

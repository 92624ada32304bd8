import type { NamedTensorMap } from '@tensorflow/tfjs-core';
import type { LoadedWeights, LoadWeightsOptions, WriteModelOptions } from '@acc/checkpoint';
import type { BatchRows, Collective, KernelLayer, Stateful, Strategy } from '@acc/contract';
import type { LaunchEnvironment } from '../environment.js';
import { TrackedRole, type Tracking } from '../tracking/tracked-role.js';
import type { Lifetime } from '../lifetime.js';
import type { DataPreparation } from '../prepare/prepare-data.js';
import { requirePath } from '../require-arguments.js';
import { onRows } from '../step/batch-rows.js';
import type { StepPipeline } from '../step/step-pipeline.js';
import { loadModel, saveModel, stateDict, type Weighted } from './model-weights.js';
import type { LoadStateOptions, RestoredRun, RunCheckpoints, SaveStateOptions } from './run-checkpoints.js';

interface StatefulParts {
  readonly checkpoints: RunCheckpoints;
  readonly atBoundary: () => Promise<void>;
  readonly collective: Collective;
  readonly kernels: KernelLayer;
  readonly strategy: Strategy;
  readonly data: DataPreparation;
  readonly pipeline: StepPipeline;
  readonly lifetime: Lifetime;
}

/** A process whose run can be saved, and gone on with. */
export abstract class StatefulProcess extends TrackedRole {
  readonly #parts: StatefulParts;

  constructor(environment: LaunchEnvironment, tracking: Tracking, parts: StatefulParts) {
    super(environment, tracking);
    this.#parts = parts;
  }

  /**
   * Rows that this rank has of a full batch of `batchSize`, as data or `fit` is given it: its part with `splitBatches`, else all. For
   * constants that are made outside of the step. @throws AccError `ACC_INVALID_ARGUMENT`.
   */
  localBatchSize(batchSize: number): number {
    return this.#parts.data.localBatchSize(batchSize);
  }

  protected onRows<R>(rows: BatchRows, fn: () => R): R {
    return onRows(this.#parts.pipeline, rows, fn);
  }

  /**
   * Saves everything that the run is: weights, optimizers, schedules, loss scale, an unfinished window of accumulation, random
   * states, the position in prepared data and in `fit`, plugins, and what {@link registerForCheckpointing} was given. Every rank
   * calls it, between steps; each writes its part. It is complete or not there at all.
   *
   * @param path A folder, or keys in `checkpoint.storage`; what is there is replaced. Default: a name of its own in `checkpoint.dir`.
   * @returns Where it is; undefined where it failed and `checkpoint.onError` is `warn`.
   * @throws AccError `ACC_CHECKPOINT_SAVE_FAILED`, on all ranks alike, also for an async save before this one; `ACC_STATE_INVALID`,
   * `ACC_UNKNOWN_OPTION`.
   */
  async saveState(path?: string, options: SaveStateOptions = {}): Promise<string | undefined> {
    this.#parts.lifetime.requireRunning('saveState');
    if (path !== undefined) requirePath('saveState', path);
    return this.#parts.checkpoints.save(path, options);
  }

  /**
   * Goes on from a checkpoint, made by as many ranks or not. To be called after `prepare` and `registerForCheckpointing`, with the
   * same objects in the same order as when it was saved; prepared data then begins, and `fit` goes on, where it was. All of it is
   * read and verified before anything is changed.
   *
   * @param path Where it is; `latest`, the default, is the newest complete one in `checkpoint.dir`.
   * @throws AccError `ACC_CHECKPOINT_NOT_FOUND`, `ACC_CHECKPOINT_CORRUPT`, `ACC_CHECKPOINT_MISMATCH`, `ACC_CHECKPOINT_VERSION`.
   */
  loadState(path?: string, options?: LoadStateOptions & { ifPresent?: false }): Promise<RestoredRun>;
  loadState(path: string | undefined, options: LoadStateOptions): Promise<RestoredRun | undefined>;
  async loadState(path = 'latest', options: LoadStateOptions = {}): Promise<RestoredRun | undefined> {
    this.#parts.lifetime.requireRunning('loadState');
    requirePath('loadState', path);
    return this.#parts.checkpoints.load(path, options);
  }

  /**
   * Has checkpoints keep the state of objects with `getState()` and `setState(state)`, on each rank its own.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT`.
   */
  registerForCheckpointing(...objects: readonly Stateful[]): void {
    this.#parts.lifetime.requireRunning('registerForCheckpointing');
    this.#parts.checkpoints.register(objects);
  }

  /**
   * Writes a model, or a list of variables, for programs that use it: whole weights, and of a model of tfjs-layers its topology.
   * Every rank calls it; the first writes.
   *
   * @param path A folder.
   * @throws AccError `ACC_INVALID_ARGUMENT`, `ACC_INVALID_OPTION`, `ACC_UNKNOWN_OPTION`, and those of the storage.
   */
  async saveModel(model: Weighted, path: string, options: WriteModelOptions = {}): Promise<void> {
    this.#parts.lifetime.requireJob('saveModel');
    requirePath('saveModel', path);
    return saveModel(model, path, options, this.#parts);
  }

  /**
   * Gives a model, or a list of variables, the weights of files: safetensors, of the Hugging Face Hub for instance, tfjs's own
   * `model.json`, or a checkpoint. `names` says which stored weight goes where. Every rank calls it, and reads.
   *
   * @throws AccError `ACC_WEIGHTS_NOT_FOUND`, `ACC_WEIGHTS_MISMATCH`, `ACC_SAFETENSORS_INVALID`, `ACC_DTYPE_UNSUPPORTED`.
   */
  async loadModel(model: Weighted, path: string, options: LoadWeightsOptions = {}): Promise<LoadedWeights> {
    this.#parts.lifetime.requireJob('loadModel');
    requirePath('loadModel', path);
    return loadModel(model, path, options, this.#parts);
  }

  /** The model itself, of which `prepare` changes how it computes, and not what it is. */
  unwrapModel<T extends object>(model: T): T {
    return model;
  }

  /**
   * The whole weights of a model, or a list of variables, by their names, also where ranks hold parts: then every rank calls it.
   * Caller disposes.
   */
  getStateDict(model: Weighted): NamedTensorMap {
    return stateDict(model, this.#parts);
  }

  /**
   * Prepared data that leaves out the first `batches` of this rank in each of its epochs, counted from the epoch's start. Both share the
   * count of epochs. After {@link loadState} it is not needed.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT`, `ACC_INVALID_OPTION`.
   */
  skipFirstBatches<T extends object>(data: T, batches: number): T {
    return this.#parts.data.skipFirst(data, batches) as T;
  }

  /** Resolves when an async save is complete. Every rank calls it. @throws AccError `ACC_CHECKPOINT_SAVE_FAILED`. */
  waitForCheckpoint(): Promise<void> {
    return this.#parts.checkpoints.settle();
  }

  /**
   * For loops without prepared data, between steps: where the job was asked to end, saves and exits, as others do by themselves.
   */
  checkPreemption(): Promise<void> {
    return this.#parts.atBoundary();
  }
}

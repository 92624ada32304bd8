import type { NamedTensorMap } from '@tensorflow/tfjs-core';
import type { LoadedWeights, LoadWeightsOptions, WriteModelOptions } from '@acc/checkpoint';
import {
  AccError,
  checkKeys,
  isAccError,
  type Collective,
  type KernelLayer,
  type Stateful,
  type Strategy,
} from '@acc/contract';
import type { Lifetime } from '../lifetime.js';
import { requirePath } from '../require-arguments.js';
import { loadModel, saveModel, stateDict, type Weighted } from './model-weights.js';
import type { Nested } from '@acc/tape';
import type { LoadStateOptions, RestoredRun, RunCheckpoints, SaveStateOptions } from './run-checkpoints.js';
import { saveTensors } from './save-tensors.js';
import type { RemovableHandle, StatePreHook } from './state-hooks.js';

export interface SavedRunContext {
  readonly checkpoints: RunCheckpoints;
  readonly collective: Collective;
  readonly kernels: KernelLayer;
  readonly strategy: Strategy;
  readonly lifetime: Lifetime;
}

/**
 * Saves and loads the run and its models. Checks first that the Accelerator permits it.
 * `Accelerator` documents each member.
 */
export class SavedRun {
  readonly #context: SavedRunContext;
  /** Saves and loads that have begun. */
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(context: SavedRunContext) {
    this.#context = context;
  }

  async saveState(path: string | undefined, options: SaveStateOptions): Promise<string | undefined> {
    this.#context.lifetime.requireRunning('saveState');
    if (path !== undefined) requirePath('saveState', path);
    return await this.#follow('saveState', () => this.#context.checkpoints.save(path, options));
  }

  async loadState(path: string, options: LoadStateOptions): Promise<RestoredRun | undefined> {
    this.#context.lifetime.requireRunning('loadState');
    requirePath('loadState', path);
    return await this.#follow('loadState', () => this.#context.checkpoints.load(path, options));
  }

  /** Resolves when everything that the program saves or loads is complete, also what it does not await. */
  async settle(): Promise<void> {
    while (this.#underWay.size > 0) {
      const outcomes = await Promise.allSettled(this.#underWay);
      // An error that the program does not await ends the process before its rank waits for others.
      if (outcomes.some(({ status }) => status === 'rejected')) await new Promise((end) => setTimeout(end));
    }
    await this.#context.checkpoints.settle();
  }

  register(objects: readonly Stateful[]): void {
    this.#context.lifetime.requireRunning('registerForCheckpointing');
    this.#context.checkpoints.register(objects);
  }

  addHook(before: 'saveState' | 'loadState', hook: StatePreHook): RemovableHandle {
    this.#context.lifetime.requireRunning(`register${before === 'saveState' ? 'Save' : 'Load'}StatePreHook`);
    return this.#context.checkpoints.hooks.add(before, hook);
  }

  async save(
    values: Nested,
    path: string,
    options: Omit<WriteModelOptions, 'format' | 'quantization'>,
  ): Promise<void> {
    this.#context.lifetime.requireJob('save');
    requirePath('save', path);
    checkKeys('save', options, ['maxShardSize', 'storage']);
    return await this.#follow('save', () => saveTensors(values, path, options, this.#context));
  }

  async saveModel(model: Weighted, path: string, options: WriteModelOptions): Promise<void> {
    this.#context.lifetime.requireJob('saveModel');
    requirePath('saveModel', path);
    return await this.#follow('saveModel', () => saveModel(model, path, options, this.#context));
  }

  async loadModel(model: Weighted, path: string, options: LoadWeightsOptions): Promise<LoadedWeights> {
    this.#context.lifetime.requireJob('loadModel');
    requirePath('loadModel', path);
    return await this.#follow('loadModel', () => loadModel(model, path, options, this.#context));
  }

  stateDict(model: Weighted): NamedTensorMap {
    return stateDict(model, this.#context);
  }

  async #follow<T>(method: string, work: () => Promise<T>): Promise<T> {
    const { lifetime } = this.#context;
    const couldTrain = lifetime.isRunning;
    // Made here, where the line of the program is known.
    const interrupted = interruptedBy(method);
    const running = work();
    this.#underWay.add(running);
    try {
      return await running;
    } catch (error) {
      if (!couldTrain || lifetime.isRunning || isAccError(error)) throw error;
      interrupted.cause = error;
      throw interrupted;
    } finally {
      this.#underWay.delete(running);
    }
  }
}

function interruptedBy(method: string): AccError {
  return new AccError('ACC_ACCELERATOR_FREED', `freeMemory() was called before ${method}() had ended.`, {
    help: `Write await accelerator.${method}(…): it needs the prepared objects until it has ended.`,
  });
}

import type { NamedTensorMap } from '@tensorflow/tfjs-core';
import type { LoadedWeights, LoadWeightsOptions, WriteModelOptions } from '@acc/checkpoint';
import { checkKeys, type Collective, type KernelLayer, type Stateful, type Strategy } from '@acc/contract';
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

  constructor(context: SavedRunContext) {
    this.#context = context;
  }

  async saveState(path: string | undefined, options: SaveStateOptions): Promise<string | undefined> {
    this.#context.lifetime.requireRunning('saveState');
    if (path !== undefined) requirePath('saveState', path);
    return await this.#context.checkpoints.save(path, options);
  }

  async loadState(path: string, options: LoadStateOptions): Promise<RestoredRun | undefined> {
    this.#context.lifetime.requireRunning('loadState');
    requirePath('loadState', path);
    return await this.#context.checkpoints.load(path, options);
  }

  register(objects: readonly Stateful[]): void {
    this.#context.lifetime.requireRunning('registerForCheckpointing');
    this.#context.checkpoints.register(objects);
  }

  addHook(before: 'saveState' | 'loadState', hook: StatePreHook): RemovableHandle {
    this.#context.lifetime.requireRunning(`register${before === 'saveState' ? 'Save' : 'Load'}StatePreHook`);
    return this.#context.checkpoints.hooks.add(before, hook);
  }

  async save(values: Nested, path: string, options: Omit<WriteModelOptions, 'format'>): Promise<void> {
    this.#context.lifetime.requireJob('save');
    requirePath('save', path);
    checkKeys('save', options, ['maxShardSize', 'storage']);
    return await saveTensors(values, path, options, this.#context);
  }

  async saveModel(model: Weighted, path: string, options: WriteModelOptions): Promise<void> {
    this.#context.lifetime.requireJob('saveModel');
    requirePath('saveModel', path);
    return await saveModel(model, path, options, this.#context);
  }

  async loadModel(model: Weighted, path: string, options: LoadWeightsOptions): Promise<LoadedWeights> {
    this.#context.lifetime.requireJob('loadModel');
    requirePath('loadModel', path);
    return await loadModel(model, path, options, this.#context);
  }

  stateDict(model: Weighted): NamedTensorMap {
    return stateDict(model, this.#context);
  }
}

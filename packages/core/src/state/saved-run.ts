import type { NamedTensorMap } from '@tensorflow/tfjs-core';
import type { LoadedWeights, LoadWeightsOptions, WriteModelOptions } from '@acc/checkpoint';
import type { Collective, KernelLayer, Stateful, Strategy } from '@acc/contract';
import type { Lifetime } from '../lifetime.js';
import { requirePath } from '../require-arguments.js';
import { loadModel, saveModel, stateDict, type Weighted } from './model-weights.js';
import type { LoadStateOptions, RestoredRun, RunCheckpoints, SaveStateOptions } from './run-checkpoints.js';

export interface SavedRunParts {
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
  readonly #parts: SavedRunParts;

  constructor(parts: SavedRunParts) {
    this.#parts = parts;
  }

  async saveState(path: string | undefined, options: SaveStateOptions): Promise<string | undefined> {
    this.#parts.lifetime.requireRunning('saveState');
    if (path !== undefined) requirePath('saveState', path);
    return this.#parts.checkpoints.save(path, options);
  }

  async loadState(path: string, options: LoadStateOptions): Promise<RestoredRun | undefined> {
    this.#parts.lifetime.requireRunning('loadState');
    requirePath('loadState', path);
    return this.#parts.checkpoints.load(path, options);
  }

  register(objects: readonly Stateful[]): void {
    this.#parts.lifetime.requireRunning('registerForCheckpointing');
    this.#parts.checkpoints.register(objects);
  }

  async saveModel(model: Weighted, path: string, options: WriteModelOptions): Promise<void> {
    this.#parts.lifetime.requireJob('saveModel');
    requirePath('saveModel', path);
    return saveModel(model, path, options, this.#parts);
  }

  async loadModel(model: Weighted, path: string, options: LoadWeightsOptions): Promise<LoadedWeights> {
    this.#parts.lifetime.requireJob('loadModel');
    requirePath('loadModel', path);
    return loadModel(model, path, options, this.#parts);
  }

  stateDict(model: Weighted): NamedTensorMap {
    return stateDict(model, this.#parts);
  }
}

import type { UpdateGroup } from '@acc/kernels';
import type { GradientHandle } from './gradient-store.js';
import type { StoredVariable } from './stored-variable.js';
import { useArrived, type Fetch, type ValueFile } from './value-file.js';
import type { VariableStore } from './variable-store.js';

/** Variables that are updated together, and what must be in memory for that. */
export interface StoredGroup {
  readonly names: ReadonlySet<string>;
  readonly stored: readonly StoredVariable[];
  /** Gradients that are in the file. */
  readonly grads: readonly GradientHandle[];
}

interface Started {
  readonly variables: Fetch<StoredVariable>;
  readonly grads: Fetch<GradientHandle>;
}

export interface PipelineFiles {
  readonly file: ValueFile;
  readonly store: VariableStore;
}

/**
 * Reads each group while the one before is updated, and writes it while those after it are. So a
 * few groups are in memory at a time (Rajbhandari et al., "ZeRO-Infinity: Breaking the GPU Memory
 * Wall for Extreme Scale Deep Learning", SC 2021).
 */
export class UpdatePipeline {
  readonly groups: readonly UpdateGroup[];
  readonly #started: (Started | undefined)[] = [];

  constructor(
    private readonly stored: readonly StoredGroup[],
    private readonly files: PipelineFiles,
  ) {
    this.groups = stored.map(({ names }, i) => ({
      names,
      enter: () => this.#enter(i),
      leave: () => this.#leave(i),
    }));
  }

  /** Writes what an optimizer has updated without the calls of a group. */
  finish(): void {
    const { store } = this.files;
    store.releaseRead();
    for (const { stored } of this.stored) store.write(stored);
  }

  /** Gives up values that were read for nothing, after an error. */
  drop(): void {
    for (const started of this.#started) {
      started?.variables.drop();
      started?.grads.drop();
    }
  }

  #enter(i: number): void {
    const { variables, grads } = this.#start(i)!;
    this.#start(i + 1);
    useArrived(variables.wait(), (stored, values) => stored.bring(values));
    useArrived(grads.wait(), (stored, values) => stored.fill(values));
    this.#started[i] = undefined;
  }

  #leave(i: number): void {
    const { stored, grads } = this.stored[i]!;
    for (const grad of grads) grad.release();
    this.files.store.write(stored);
  }

  #start(i: number): Started | undefined {
    const group = this.stored[i];
    if (!group) return undefined;
    const { file, store } = this.files;
    if (this.#started[i]) return this.#started[i];
    const variables = store.startRead(group.stored);
    try {
      const grads = file.startRead(group.grads.filter(({ isAway }) => isAway));
      return (this.#started[i] = { variables, grads });
    } catch (error) {
      variables.drop();
      throw error;
    }
  }
}

import { Optimizer, tidy, type serialization, type Variable } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import type { AccBackend } from '../backend.js';
import { backendForLists } from './fused/fused-apply.js';
import { registeredVariable } from '../live-variables.js';
import { filterFromConfig } from './name-filter.js';
import type { StepChunk } from './fused/native-step.js';
import { takeStep } from './fused/take-step.js';
import {
  namedGradients,
  updatesOf,
  type Gradients,
  type NamedGradient,
  type SlotList,
  type Update,
} from './slots.js';

type NamedTensor = Awaited<ReturnType<Optimizer['getWeights']>>[number];

/**
 * An optimizer that keeps state variables for each trained variable, by position in the list of
 * gradients, as tfjs's optimizers do. On the backend `acc` a step runs on lists of tensors, in
 * place; elsewhere it runs tfjs's operations.
 */
export abstract class SlotOptimizer extends Optimizer {
  /** @param slotLists The kinds of state, in the order of `getWeights`. */
  constructor(
    private readonly slotLists: readonly SlotList[],
    /** May be changed between steps. */
    public learningRate: number,
  ) {
    super();
  }

  /** The kinds of state with their variables. */
  get stateLists(): readonly SlotList[] {
    return this.slotLists;
  }

  /** Takes effect at the next step. */
  setLearningRate(learningRate: number): void {
    this.learningRate = learningRate;
  }

  /** Updates weights and state in place. */
  protected abstract updateChunk(chunk: StepChunk): void;

  /** Updates the weights and state of all chunks of a step. */
  protected updateChunks(chunks: readonly StepChunk[]): void {
    for (const chunk of chunks) this.updateChunk(chunk);
  }

  /** Assigns new values to one variable and its state. Called in a tidy. */
  protected abstract updateOne(update: Update): void;

  /** Assigns new values to the variables of a step, all of which have elements. */
  protected updateEach(updates: readonly Update[]): void {
    for (const update of updates) tidy(() => this.updateOne(update));
  }

  /** The number of the current step, from 1. */
  protected get step(): number {
    return this.iterations + 1;
  }

  /**
   * Takes one step. The caller keeps ownership of the gradients. A null or undefined gradient
   * leaves its variable unchanged.
   *
   * @throws AccError `ACC_VARIABLE_UNKNOWN` if no registered variable has the name of a gradient.
   */
  override applyGradients(given: Gradients): void {
    const gradients = namedGradients(given);
    this.takeStep(updatesOf(gradients, gradients.map(variableOf), this.slotLists));
    this.incrementIterations();
  }

  /** Assigns new values to the weights and state of a step. Some may have no elements. */
  protected takeStep(updates: readonly Update[]): void {
    const backend = backendForLists();
    if (backend && this.#applyNatively(backend, updates)) return;
    this.updateEach(updates.filter(({ variable }) => variable.size > 0));
  }

  /** Frees the state. */
  override dispose(): void {
    for (const { slots } of this.slotLists) for (const { variable } of slots.splice(0)) variable.dispose();
  }

  /** Returns `iter`, then the state, kind by kind. The optimizer owns the state tensors. */
  override async getWeights(): Promise<NamedTensor[]> {
    const slots = this.slotLists.flatMap((list) => list.slots);
    return [
      await this.saveIterations(),
      ...slots.map(({ originalName, variable }) => ({ name: originalName, tensor: variable })),
    ];
  }

  /**
   * Loads the result of {@link getWeights}. The caller keeps ownership of the tensors.
   *
   * @throws AccError `ACC_OPTIMIZER_WEIGHTS` if the number of tensors does not fit this kind of
   * optimizer.
   */
  override async setWeights(weights: NamedTensor[]): Promise<void> {
    const state = await this.extractIterations(weights);
    const kinds = this.slotLists.length;
    const count = kinds === 0 ? 0 : state.length / kinds;
    if (!Number.isInteger(count) || (kinds === 0 && state.length > 0)) {
      throw new AccError(
        'ACC_OPTIMIZER_WEIGHTS',
        `${this.getClassName()} keeps ${kinds} tensors for each variable, but setWeights received ${state.length}.`,
        { help: 'Create the optimizer with the same options as when its weights were saved.' },
      );
    }
    const given = new Set<unknown>(state.map(({ tensor }) => tensor));
    this.slotLists.forEach(({ slots }, k) => {
      const loaded = state
        .slice(k * count, (k + 1) * count)
        .map(({ name, tensor }) => ({ originalName: name, variable: tensor.variable(false) }));
      for (const { variable } of slots.splice(0, slots.length, ...loaded)) {
        if (!given.has(variable)) variable.dispose();
      }
    });
  }

  /** Creates an optimizer from the result of `getConfig`, without its state. */
  static override fromConfig<T extends serialization.Serializable>(
    cls: serialization.SerializableConstructor<T>,
    config: serialization.ConfigDict,
  ): T {
    const options: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(config)) {
      // tfjs-layers adds this key to every config that it loads.
      if (key !== 'customObjects') options[key] = Array.isArray(value) ? filterFromConfig(value) : value;
    }
    return new cls(options);
  }

  /** Returns false, and changes nothing, if the step cannot run on lists. */
  #applyNatively(backend: AccBackend, updates: readonly Update[]): boolean {
    const update = (chunks: readonly StepChunk[]) => this.updateChunks(chunks);
    return takeStep(backend, { updates, kinds: this.slotLists, scalars: [], update });
  }
}

function variableOf({ name }: NamedGradient): Variable {
  const variable = registeredVariable(name);
  if (!variable) {
    throw new AccError(
      'ACC_VARIABLE_UNKNOWN',
      `A gradient is named '${name}', but there is no variable with that name.`,
      {
        help: 'Use variable.name as the name of each gradient.',
      },
    );
  }
  return variable;
}

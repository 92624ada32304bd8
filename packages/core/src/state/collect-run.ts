import { buffersOfRank, differingBuffers } from '#platform/several-ranks';
import type { Tensor } from '@tensorflow/tfjs-core';
import { together, type NamedTensor } from '@acc/checkpoint';
import type { DataPosition } from '@acc/data';
import type { CallbackStates } from '../fit/fit-callbacks.js';
import type { FitPosition } from '../fit/fit-progress.js';
import { readOrderState, type OrderState } from '../random/data-orders.js';
import { readRandomState } from '../random/math-random.js';
import type { RandomState } from '../random/random-source.js';
import { accumulationEntry, type AccumulationEntry } from './accumulation-entries.js';
import { modelOfAllRanks, modelState, type ModelState } from './model-state.js';
import { NamedTensors } from './named-tensors.js';
import type { RankBuffers } from './rank-buffers.js';
import { recurrentStates, type RecurrentStates } from './recurrent-states.js';
import type { RunContext } from './run-context.js';

/** The state that is the same on every rank. */
export interface SharedState<T> {
  readonly step: number;
  /** Null if each rank trains alone. The model is then in {@link LocalState}. */
  readonly model: ModelState<T> | null;
  /** The positions in prepared data, in the order of preparation. */
  readonly data: readonly DataPosition[];
  readonly fit: FitPosition | null;
  readonly strategy: unknown;
  readonly kernels: unknown;
  /** The state of the orders of data. Checkpoints of earlier versions have none. */
  readonly orders?: OrderState | null;
}

/** The state of one rank. */
export interface LocalState<T> {
  readonly model: ModelState<T> | null;
  readonly accumulation: AccumulationEntry<T>;
  /**
   * Weights that no gradient changes, by name, if ranks have different ones. Checkpoints of earlier
   * versions have none.
   */
  readonly buffers?: RankBuffers<T>;
  /** Checkpoints of earlier versions have none. */
  readonly recurrent?: RecurrentStates<T>;
  /** The states of the callbacks of the running `fit`. Checkpoints of earlier versions have none. */
  readonly callbacks?: CallbackStates;
  /**
   * The states of plugins that have one, by name. The second plugin of a name has the key `name 2`.
   */
  readonly plugins: Readonly<Record<string, unknown>>;
  readonly registered: readonly unknown[];
  readonly strategy: unknown;
  /**
   * The state of the backend's own random generator. Null if all random numbers are drawn in
   * JavaScript.
   */
  readonly generator: T | null;
  readonly random: RandomState;
}

export interface CollectedRun {
  readonly shared: SharedState<Tensor>;
  readonly local: LocalState<Tensor>;
  /** Weights, optimizer state and sums that ranks hold together, by their names across ranks. */
  readonly tensors: readonly NamedTensor[];
  /** Tensors that were made for the save. They are to be disposed after its snapshot is taken. */
  readonly made: readonly Tensor[];
}

/**
 * Collects the complete current state of a run. Tensors of the run still belong to their owners.
 * Every rank calls it.
 *
 * @throws AccError `ACC_STATE_INVALID`, on all ranks, if the state of one rank cannot be saved or
 * if ranks have different optimizers.
 */
export async function collectRun(context: RunContext): Promise<CollectedRun> {
  const { trainingStep, collective } = context;
  const isApart = trainingStep.sync.isTrainingAlone;
  const root = isApart ? `rank-${collective.rank}/` : '';
  let own: LocalRun | undefined;
  try {
    own = await together(collective, () => collectLocal(context, root), undefined, 'saveState()');
    const { model } = own.shared;
    if (isApart)
      return { ...own, shared: { ...own.shared, model: null }, local: { ...own.local, model, buffers: {} } };
    const { buffers, tensors } = differingBuffers({ ...own.local, tensors: own.tensors }, collective);
    return {
      ...{ ...own, tensors },
      shared: { ...own.shared, model: modelOfAllRanks(model, collective) },
      local: { ...own.local, buffers },
    };
  } catch (error) {
    for (const tensor of own?.made ?? []) tensor.dispose();
    throw error;
  }
}

/** A run as one rank has it. The names in its model are those of the tensors of this rank. */
export interface LocalRun extends CollectedRun {
  readonly shared: SharedState<Tensor> & { readonly model: ModelState<Tensor> };
}

/**
 * Collects the complete current state of this rank, without the other ranks. Tensors of the run
 * still belong to their owners.
 *
 * @param root The prefix of the names of the model's tensors.
 * @throws AccError `ACC_STATE_INVALID` if the state cannot be saved.
 */
export async function collectLocal(context: RunContext, root = ''): Promise<LocalRun> {
  const created: Tensor[] = [];
  try {
    const names = new NamedTensors(context.strategy, context.trainingStep.trained.prepared);
    const model = await modelState(context, names, root, created);
    const { shared, local } = await restOf(context, names, created);
    return {
      shared: { ...shared, model },
      local: { ...local, model: null },
      tensors: names.added,
      made: created,
    };
  } catch (error) {
    for (const tensor of created) tensor.dispose();
    throw error;
  }
}

/** Collects all state except the model. */
async function restOf(context: RunContext, names: NamedTensors, created: Tensor[]) {
  const { trainingStep, strategy, kernels, data, fit, registered } = context;
  const { shared = null, local = null } = strategy.state?.get() ?? {};
  const generator = kernels.random?.state() ?? null;
  if (generator) created.push(generator);
  return {
    shared: {
      step: trainingStep.updates.steps,
      data: data.positions,
      fit: fit.position ?? null,
      strategy: shared,
      kernels: kernels.state.getState(),
      orders: readOrderState(),
    },
    local: {
      accumulation: accumulationEntry(trainingStep, names, context),
      buffers: buffersOfRank(context, names),
      recurrent: recurrentStates(context),
      callbacks: await fit.callbacks.states(),
      plugins: await pluginStates(context),
      registered: await Promise.all(registered.map((each) => each.getState())),
      strategy: local,
      generator,
      random: readRandomState(),
    },
  };
}

async function pluginStates(context: RunContext): Promise<Record<string, unknown>> {
  const states: Record<string, unknown> = {};
  for (const [key, plugin] of keyedPlugins(context)) states[key] = await plugin.getState!();
  return states;
}

/** The plugins with a state. A resumed program gives them the same keys. */
export function keyedPlugins({
  plugins,
}: Pick<RunContext, 'plugins'>): [string, RunContext['plugins'][number]][] {
  const counts = new Map<string, number>();
  return plugins
    .filter((plugin) => plugin.getState && plugin.setState)
    .map((plugin) => {
      const before = counts.get(plugin.name) ?? 0;
      counts.set(plugin.name, before + 1);
      return [before === 0 ? plugin.name : `${plugin.name} ${before + 1}`, plugin];
    });
}

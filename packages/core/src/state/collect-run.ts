import type { Tensor } from '@tensorflow/tfjs-core';
import { together, type NamedTensor } from '@acc/checkpoint';
import type { DataPosition } from '@acc/data';
import type { FitPosition } from '../fit/fit-progress.js';
import { readRandomState } from '../random/math-random.js';
import type { RandomState } from '../random/random-source.js';
import { accumulationEntry, type AccumulationEntry } from './accumulation-entries.js';
import { modelOfAllRanks, modelState, type ModelState } from './model-state.js';
import { NamedTensors } from './named-tensors.js';
import type { RunParts } from './run-parts.js';

/** What is the same on every rank. */
export interface SharedState<T> {
  readonly step: number;
  /** Null where each rank trains alone: then it is in {@link LocalState}. */
  readonly model: ModelState<T> | null;
  /** Of prepared data, in the order in which it was prepared. */
  readonly data: readonly DataPosition[];
  readonly fit: FitPosition | null;
  readonly strategy: unknown;
  readonly kernels: unknown;
}

/** One rank's own. */
export interface LocalState<T> {
  readonly model: ModelState<T> | null;
  readonly accumulation: AccumulationEntry<T>;
  /** Of plugins that have any, under their names and how many of that name came before. */
  readonly plugins: Readonly<Record<string, unknown>>;
  readonly registered: readonly unknown[];
  readonly strategy: unknown;
  /** The backend's own random numbers; null where all are drawn in JavaScript. */
  readonly generator: T | null;
  readonly random: RandomState;
}

export interface CollectedRun {
  readonly shared: SharedState<Tensor>;
  readonly local: LocalState<Tensor>;
  /** Weights, state of optimizers and sums of which ranks hold parts, by name over ranks. */
  readonly tensors: readonly NamedTensor[];
  /** Made for this, to be disposed when the save has its snapshot. */
  readonly made: readonly Tensor[];
}

/**
 * Everything that a run is, at this moment. The tensors stay their owners'. Every rank calls it.
 *
 * @throws AccError `ACC_STATE_INVALID`, on all ranks, where one rank's state cannot be kept, or ranks have other optimizers.
 */
export async function collectRun(parts: RunParts): Promise<CollectedRun> {
  const { pipeline, collective } = parts;
  const made: Tensor[] = [];
  const dispose = () => {
    for (const tensor of made) tensor.dispose();
  };
  try {
    const names = new NamedTensors(parts.strategy, pipeline.trained.prepared);
    const isApart = pipeline.isTrainingAlone;
    const root = isApart ? `rank-${collective.rank}/` : '';
    const { model, ...own } = await together(collective, async () => ({
      model: await modelState(parts, names, root, made),
      ...(await restOf(parts, names, made)),
    }));
    return {
      shared: { ...own.shared, model: isApart ? null : modelOfAllRanks(model, collective) },
      local: { ...own.local, model: isApart ? model : null },
      tensors: names.added,
      made,
    };
  } catch (error) {
    dispose();
    throw error;
  }
}

/** What is not the model. */
async function restOf(parts: RunParts, names: NamedTensors, made: Tensor[]) {
  const { pipeline, strategy, kernels, data, fit, registered } = parts;
  const { shared = null, local = null } = strategy.getState?.() ?? {};
  const generator = kernels.random?.state() ?? null;
  if (generator) made.push(generator);
  return {
    shared: {
      step: pipeline.steps,
      data: data.positions,
      fit: fit.position ?? null,
      strategy: shared,
      kernels: kernels.state.getState(),
    },
    local: {
      accumulation: accumulationEntry(pipeline, names, strategy),
      plugins: await pluginStates(parts),
      registered: await Promise.all(registered.map((each) => each.getState())),
      strategy: local,
      generator,
      random: readRandomState(),
    },
  };
}

async function pluginStates(parts: RunParts): Promise<Record<string, unknown>> {
  const states: Record<string, unknown> = {};
  for (const [key, plugin] of keyedPlugins(parts)) states[key] = await plugin.getState!();
  return states;
}

/** Plugins with a state, under keys that are the same in a program that goes on. */
export function keyedPlugins({
  plugins,
}: Pick<RunParts, 'plugins'>): [string, RunParts['plugins'][number]][] {
  const counts = new Map<string, number>();
  return plugins
    .filter((plugin) => plugin.getState && plugin.setState)
    .map((plugin) => {
      const before = counts.get(plugin.name) ?? 0;
      counts.set(plugin.name, before + 1);
      return [before === 0 ? plugin.name : `${plugin.name} ${before + 1}`, plugin];
    });
}

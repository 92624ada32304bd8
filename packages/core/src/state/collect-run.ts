import type { Tensor } from '@tensorflow/tfjs-core';
import type { PlacementOf } from '@acc/checkpoint';
import type { DataPosition } from '@acc/data';
import type { FitPosition } from '../fit/fit-progress.js';
import { readRandomState } from '../random/math-random.js';
import type { RandomState } from '../random/random-source.js';
import { accumulationEntry, type AccumulationEntry } from './accumulation-entries.js';
import { NamedTensors } from './named-tensors.js';
import { optimizerEntry, type OptimizerEntry } from './optimizer-entries.js';
import { parameterEntries, type ParameterEntry } from './parameters.js';
import type { RunParts } from './run-parts.js';

/** Weights and the state of optimizers. `T` is a tensor, or what stands for one in a checkpoint. */
export interface ModelState<T> {
  readonly parameters: readonly ParameterEntry<T>[];
  readonly optimizers: readonly OptimizerEntry<T>[];
}

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
  readonly placementOf: PlacementOf;
  /** Made for this, to be disposed when the save has its snapshot. */
  readonly made: readonly Tensor[];
}

/** Everything that a run is, at this moment. The tensors stay their owners'. */
export async function collectRun(parts: RunParts): Promise<CollectedRun> {
  const { pipeline, strategy, kernels, data, fit, registered } = parts;
  const names = new NamedTensors(strategy, pipeline.trained.prepared);
  const made: Tensor[] = [];
  const keepMade = (tensor: Tensor | undefined) => {
    if (tensor) made.push(tensor);
    return tensor ?? null;
  };
  const isApart = pipeline.isTrainingAlone;
  const model = await modelState(parts, names, made, isApart ? `rank-${parts.collective.rank}/` : '');
  const { shared = null, local = null } = strategy.getState?.() ?? {};
  return {
    shared: {
      step: pipeline.steps,
      model: isApart ? null : model,
      data: data.positions,
      fit: fit.position ?? null,
      strategy: shared,
      kernels: kernels.state.getState(),
    },
    local: {
      model: isApart ? model : null,
      accumulation: accumulationEntry(pipeline),
      plugins: await pluginStates(parts),
      registered: await Promise.all(registered.map((each) => each.getState())),
      strategy: local,
      generator: keepMade(kernels.random?.state()),
      random: readRandomState(),
    },
    placementOf: names.placementOf,
    made,
  };
}

async function modelState(
  { pipeline, preparation }: RunParts,
  names: NamedTensors,
  made: Tensor[],
  folder: string,
): Promise<ModelState<Tensor>> {
  const parameters = pipeline.trained.prepared;
  const entries = parameterEntries(parameters, names, folder);
  const optimizers = [];
  for (const [i, optimizer] of preparation.optimizers.entries()) {
    const context = { parameters, names, folder: `${folder}optimizers/${i}` };
    optimizers.push(await optimizerEntry(optimizer, context, made));
  }
  return { parameters: entries, optimizers };
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

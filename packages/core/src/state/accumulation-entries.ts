import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { AccumulationState } from '@acc/contract';
import type { StepPipeline } from '../step/step-pipeline.js';

/** A window of accumulation in a checkpoint; variables by their places among the parameters. */
export interface AccumulationEntry<T> {
  readonly done: number;
  readonly held: readonly HeldEntry<T>[];
}

interface HeldEntry<T> {
  readonly variables: readonly number[];
  readonly place: number;
  readonly counts: { readonly own: number; readonly all?: number; readonly samples?: number };
  readonly unit: number;
  readonly sums: readonly (T | null)[];
}

export function accumulationEntry({ accumulation, trained }: StepPipeline): AccumulationEntry<Tensor> {
  const parameters = trained.prepared;
  const { done, held } = accumulation.getState();
  return {
    done,
    held: held.map(({ variables, counts: { own, all, samples }, ...rest }) => ({
      ...rest,
      variables: variables.map((variable) => parameters.indexOf(variable)),
      counts: { own, ...(all !== undefined && { all }), ...(samples !== undefined && { samples }) },
    })),
  };
}

/**
 * What one of `size` ranks goes on with of the windows of all ranks that there were: those of ranks that are not there any more
 * are shared out, and a rank that is new begins with nothing but the counts, which are everybody's.
 */
export function gatherWindows<T>(
  windows: readonly AccumulationEntry<T>[],
  { rank, size }: { readonly rank: number; readonly size: number },
): AccumulationEntry<T> {
  const own = windows.filter((_, i) => i % size === rank);
  if (own.length > 0) return { done: own[0]!.done, held: own.flatMap(({ held }) => held) };
  const { done, held } = windows[0]!;
  const empty = held.map((each) => ({
    ...each,
    counts: { ...each.counts, own: 0 },
    unit: 0,
    sums: each.sums.map(() => null),
  }));
  return { done, held: empty };
}

export function windowState(
  { done, held }: AccumulationEntry<Tensor>,
  parameters: readonly Variable[],
): AccumulationState {
  return {
    done,
    held: held.map(({ variables, counts: { own, all, samples }, ...rest }) => ({
      ...rest,
      variables: variables.map((place) => parameters[place]!),
      counts: { own, all, samples },
    })),
  };
}

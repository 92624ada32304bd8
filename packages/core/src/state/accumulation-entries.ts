import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import { storedTensor, type Checkpoint, type StoredReference, type Want } from '@acc/checkpoint';
import { AccError, type TensorShard } from '@acc/contract';
import type { AccumulationState, AccumulatedPasses } from '@acc/grad-accumulation';
import { accumulatesReduced } from '../step/pass.js';
import type { TrainingStep } from '../step/training-step.js';
import type { NamedTensors } from './named-tensors.js';
import type { RunContext } from './run-context.js';

/**
 * Marks the sum of a sharded variable. Each rank's shards are stored under the names of the whole
 * tensors.
 */
const IN_SHARDS = 'parts';

/** The accumulation window of one rank in a checkpoint. Variables are given by name. */
export interface AccumulationEntry<T> {
  readonly done: number;
  /** Names of the rank's parameters, sorted. Absent if no gradients are held. */
  readonly parameters?: readonly string[];
  /**
   * Whether the held sums have been reduced. Reduced sums are the same on all ranks that hold the
   * parameters, except for their shards.
   */
  readonly isReduced?: boolean;
  /** The number of ranks that hold the same sums, or shards of them. Default 1. */
  readonly alike?: number;
  readonly held: readonly LocalEntry<T>[];
}

interface LocalEntry<T> {
  /** Names of variables. In version 1 of the format: positions among the parameters. */
  readonly variables: readonly (string | number)[];
  readonly place: number;
  readonly counts: { readonly own: number; readonly all?: number; readonly samples?: number };
  readonly unit: number;
  readonly sums: readonly (T | typeof IN_SHARDS | null)[];
}

const folderOf = (entry: number): string => `accumulation/${entry}`;

/** The window of this rank. Sums of which the rank has shards are added to `names`. */
export function accumulationEntry(
  { accumulation, trained }: Pick<TrainingStep, 'accumulation' | 'trained'>,
  names: NamedTensors,
  { strategy, alike }: Pick<RunContext, 'strategy' | 'alike'>,
): AccumulationEntry<Tensor> {
  const { done, held } = accumulation.getState();
  if (held.length === 0) return { done, held: [] };
  return {
    done,
    parameters: namesOfParameters(trained.prepared, names),
    ...(accumulatesReduced(strategy) && { isReduced: true }),
    ...(alike && { alike: alike.size }),
    held: held.map(({ variables, counts: { own: local, all, samples }, sums, ...rest }, entry) => ({
      ...rest,
      variables: variables.map((variable) => names.nameOf(variable)),
      counts: { own: local, ...(all !== undefined && { all }), ...(samples !== undefined && { samples }) },
      sums: sums.map((sum, i) => {
        const variable = variables[i]!;
        if (!sum || !isShard(sum, variable, names)) return sum;
        names.add(sum, variable, folderOf(entry));
        return IN_SHARDS;
      }),
    })),
  };
}

/**
 * Whether a sum is a shard. For a sharded variable, a rank may instead hold an unreduced gradient
 * of the whole tensor, which belongs to this rank alone.
 */
function isShard(sum: Tensor, variable: Variable, names: NamedTensors): boolean {
  const holder = names.localOf(variable);
  // Sums that are reduced later are whole, if the parameter is.
  if (holder !== variable && !names.accumulatesReduced) return false;
  return names.isSharded(variable) && sum.shape.join() === holder.shape.join();
}

export function namesOfParameters(parameters: readonly Variable[], names: NamedTensors): string[] {
  return parameters.map((variable) => names.nameOf(variable)).sort();
}

/** Converts an entry of version 1: replaces positions of variables by names. */
export function withNames<T>(
  entry: AccumulationEntry<T>,
  variables: readonly string[] | undefined,
): AccumulationEntry<T> {
  if (!variables) return entry;
  const held = entry.held.map((each) => ({
    ...each,
    variables: each.variables.map((place) => variables[place as number]!),
  }));
  return { ...entry, held, ...(held.length > 0 && { parameters: [...variables].sort() }) };
}

export interface WindowRanks {
  readonly rank: number;
  /** The sorted names of each rank's parameters in the checkpoint, by rank. */
  readonly parameters: readonly (readonly string[])[];
  /** Whether the strategy of this run reduces gradients before they are accumulated. */
  readonly isReduced: boolean;
  /** The number of ranks of this run that hold the same sums. */
  readonly alike: number;
}

/**
 * Chooses the saved windows with which this rank continues. The windows of the ranks that held
 * certain parameters are divided among the ranks that hold them now. A rank that gets no window
 * takes over only the counts, which are the same on all ranks.
 *
 * @throws AccError `ACC_CHECKPOINT_MISMATCH`, on all ranks, if gradients are held and the sets of
 * parameters differ from those of the ranks here, or if the strategy here reduces at another time.
 */
export function gatherWindows<T>(
  windows: readonly AccumulationEntry<T>[],
  { rank, parameters, isReduced, alike }: WindowRanks,
): AccumulationEntry<T> {
  const isOpen = windows.some(({ held }) => held.length > 0);
  if (!isOpen) return { done: windows[0]!.done, held: [] };
  const keys = parameters.map((names) => names.join('\n'));
  const keyOf = ({ parameters: names }: AccumulationEntry<T>) => names?.join('\n');
  const saved = new Set(windows.flatMap((window) => keyOf(window) ?? []));
  if (saved.size !== new Set(keys).size || keys.some((key) => !saved.has(key))) throw otherParameters();
  if (windows.some((each) => each.held.length > 0 && (each.isReduced ?? false) !== isReduced))
    throw otherOrder();
  if (windows.some((each) => (each.alike ?? 1) !== alike)) throw otherTensorAxis();
  const group = windows.filter((window) => keyOf(window) === keys[rank]);
  const members = keys.flatMap((key, each) => (key === keys[rank] ? [each] : []));
  const place = members.indexOf(rank);
  if (isReduced) return group[place % group.length]!;
  const hasShards = group.some(({ held }) => held.some(({ sums }) => sums.includes(IN_SHARDS)));
  if (hasShards && group.length !== members.length) throw otherParameters();
  const local = group.filter((_, i) => i % members.length === place);
  if (local.length === 0) return { ...group[0]!, held: group[0]!.held.map(countsAlone) };
  return { done: local[0]!.done, held: local.flatMap(({ held }) => held) };
}

function countsAlone<T>(entry: LocalEntry<T>): LocalEntry<T> {
  return {
    ...entry,
    counts: { ...entry.counts, own: 0 },
    unit: 0,
    sums: entry.sums.map(() => null),
  };
}

function otherParameters(): AccError {
  return openWindow('belong to other sets of parameters than the ranks hold here');
}

function otherOrder(): AccError {
  return openWindow('were accumulated by a strategy that reduces gradients at a different time');
}

function otherTensorAxis(): AccError {
  return openWindow('were accumulated on a mesh with another size of the axis tensor');
}

function openWindow(problem: string): AccError {
  return new AccError(
    'ACC_CHECKPOINT_MISMATCH',
    `The run was saved inside a window of gradient accumulation, and its accumulated gradients ${problem}.`,
    {
      help: 'Load it with the same strategy and number of ranks, or load a checkpoint that was saved after a window was closed.',
    },
  );
}

interface HeldShardsContext {
  readonly names: NamedTensors;
  readonly storedName: (name: string) => string;
  readonly checkpoint: Checkpoint;
}

/** Whether one rank has written exactly these elements. */
function isStored({ name, offset, sizes }: TensorShard, checkpoint: Checkpoint): boolean {
  if (sizes.includes(0)) return true;
  return storedTensor(checkpoint, name!).parts.some(
    (part) => part.offset.join() === offset.join() && part.sizes.join() === sizes.join(),
  );
}

/** A sum that this rank reads in its own shards. */
export interface ShardedSum {
  readonly entry: number;
  readonly place: number;
  readonly want: Want;
}

/**
 * The sharded sums that belong to the window with which this rank continues.
 *
 * @throws AccError `ACC_CHECKPOINT_MISMATCH` if unreduced sums were held in other shards: each is in
 * the unit of the rank that held it.
 */
export function shardedSums(
  { held, isReduced }: AccumulationEntry<StoredReference>,
  variableOf: (storedName: string) => Variable,
  { names, storedName, checkpoint }: HeldShardsContext,
): ShardedSum[] {
  return held.flatMap(({ variables, sums }, entry) =>
    sums.flatMap((sum, place) => {
      if (sum !== IN_SHARDS) return [];
      const variable = variableOf(variables[place] as string);
      const holder = names.localOf(variable);
      const shards = names.shardsOf(holder, variable, folderOf(entry), { storedName });
      if (!isReduced && !shards?.every((shard) => isStored(shard, checkpoint))) throw otherParameters();
      return [{ entry, place, want: { name: folderOf(entry), held: { shape: holder.shape, shards } } }];
    }),
  );
}

/** @param sumOf Returns the sharded sum of an entry, for the variable at a position. */
export function windowState(
  { done, held }: AccumulationEntry<Tensor>,
  variableOf: (storedName: string) => Variable,
  sumOf: (entry: number, place: number) => Tensor,
): AccumulationState {
  return {
    done,
    held: held.map(
      ({ variables, counts: { own: local, all, samples }, sums, ...rest }, entry): AccumulatedPasses => ({
        ...rest,
        variables: variables.map((name) => variableOf(name as string)),
        counts: { own: local, all, samples },
        sums: sums.map((sum, place) => (sum === IN_SHARDS ? sumOf(entry, place) : sum)),
      }),
    ),
  };
}

import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import { storedTensor, type Checkpoint, type StoredReference, type Want } from '@acc/checkpoint';
import {
  AccError,
  type AccumulationState,
  type HeldPasses,
  type Strategy,
  type TensorPart,
} from '@acc/contract';
import type { StepPipeline } from '../step/step-pipeline.js';
import type { NamedTensors } from './named-tensors.js';

/** The sum for a variable in parts: each rank's part lies under the whole tensors' names. */
const IN_PARTS = 'parts';

/** A window of accumulation of one rank in a checkpoint; variables by name. */
export interface AccumulationEntry<T> {
  readonly done: number;
  /** Names of the rank's parameters, sorted; absent where nothing is held. */
  readonly parameters?: readonly string[];
  /** What is held was reduced: it is the same on all ranks that hold the parameters, but for their parts. */
  readonly isReduced?: boolean;
  readonly held: readonly HeldEntry<T>[];
}

interface HeldEntry<T> {
  /** In version 1 of the format places among the parameters. */
  readonly variables: readonly (string | number)[];
  readonly place: number;
  readonly counts: { readonly own: number; readonly all?: number; readonly samples?: number };
  readonly unit: number;
  readonly sums: readonly (T | typeof IN_PARTS | null)[];
}

const folderOf = (entry: number): string => `accumulation/${entry}`;

export const accumulatesReduced = ({ traits }: Strategy): boolean => traits.accumulates === 'afterReduction';

/** The window of this rank; `names` takes sums of which it has parts. */
export function accumulationEntry(
  { accumulation, trained }: Pick<StepPipeline, 'accumulation' | 'trained'>,
  names: NamedTensors,
  strategy: Strategy,
): AccumulationEntry<Tensor> {
  const { done, held } = accumulation.getState();
  if (held.length === 0) return { done, held: [] };
  return {
    done,
    parameters: namesOfParameters(trained.prepared, names),
    ...(accumulatesReduced(strategy) && { isReduced: true }),
    held: held.map(({ variables, counts: { own, all, samples }, sums, ...rest }, entry) => ({
      ...rest,
      variables: variables.map((variable) => names.nameOf(variable)),
      counts: { own, ...(all !== undefined && { all }), ...(samples !== undefined && { samples }) },
      sums: sums.map((sum, i) => {
        const variable = variables[i]!;
        if (!sum || !isPart(sum, variable, names)) return sum;
        names.add(sum, variable, folderOf(entry));
        return IN_PARTS;
      }),
    })),
  };
}

/** A gradient of a whole tensor, which was not reduced yet, may be held for a variable in parts: it is this rank's own. */
function isPart(sum: Tensor, variable: Variable, names: NamedTensors): boolean {
  return names.isInParts(variable) && sum.shape.join() === variable.shape.join();
}

export function namesOfParameters(parameters: readonly Variable[], names: NamedTensors): string[] {
  return parameters.map((variable) => names.nameOf(variable)).sort();
}

/** An entry of version 1 with names in the place of places. */
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
  /** By rank the names in the checkpoint of its parameters, sorted. */
  readonly parameters: readonly (readonly string[])[];
  /** Whether the strategy here reduces gradients before they are added up. */
  readonly isReduced: boolean;
}

/**
 * What a rank goes on with of the windows of all ranks that there were. Ranks that hold the same parameters share out the windows
 * of those that held them when the run was saved. A rank that gets none begins with the counts alone, which are everybody's.
 *
 * @throws AccError `ACC_CHECKPOINT_MISMATCH`, on all ranks, where gradients are held and no rank here has just those parameters.
 */
export function gatherWindows<T>(
  windows: readonly AccumulationEntry<T>[],
  { rank, parameters, isReduced }: WindowRanks,
): AccumulationEntry<T> {
  const isOpen = windows.some(({ held }) => held.length > 0);
  if (!isOpen) return { done: windows[0]!.done, held: [] };
  const keys = parameters.map((names) => names.join('\n'));
  const keyOf = ({ parameters: names }: AccumulationEntry<T>) => names?.join('\n');
  const saved = new Set(windows.flatMap((window) => keyOf(window) ?? []));
  if (saved.size !== new Set(keys).size || keys.some((key) => !saved.has(key))) throw otherParameters();
  if (windows.some((each) => each.held.length > 0 && (each.isReduced ?? false) !== isReduced))
    throw otherOrder();
  const group = windows.filter((window) => keyOf(window) === keys[rank]);
  const members = keys.flatMap((key, each) => (key === keys[rank] ? [each] : []));
  const place = members.indexOf(rank);
  if (isReduced) return group[place % group.length]!;
  const hasParts = group.some(({ held }) => held.some(({ sums }) => sums.includes(IN_PARTS)));
  if (hasParts && group.length !== members.length) throw otherParameters();
  const own = group.filter((_, i) => i % members.length === place);
  if (own.length === 0) return { ...group[0]!, held: group[0]!.held.map(countsAlone) };
  return { done: own[0]!.done, held: own.flatMap(({ held }) => held) };
}

function countsAlone<T>(entry: HeldEntry<T>): HeldEntry<T> {
  return {
    ...entry,
    counts: { ...entry.counts, own: 0 },
    unit: 0,
    sums: entry.sums.map(() => null),
  };
}

function otherParameters(): AccError {
  return openWindow('are for other sets of parameters than those of the ranks here');
}

function otherOrder(): AccError {
  return openWindow('were added up by a strategy that reduces them at another time than the one here');
}

function openWindow(problem: string): AccError {
  return new AccError(
    'ACC_CHECKPOINT_MISMATCH',
    `The run was saved inside a window of gradient accumulation, and the gradients that it holds ${problem}.`,
    {
      help: 'Load it on ranks that hold what those that saved it held, or load a checkpoint that was saved when a window had closed.',
    },
  );
}

interface HeldPartsContext {
  readonly names: NamedTensors;
  readonly storedName: (name: string) => string;
  readonly checkpoint: Checkpoint;
}

/** Whether some rank has written just these elements. */
function isStored({ name, offset, sizes }: TensorPart, checkpoint: Checkpoint): boolean {
  if (sizes.includes(0)) return true;
  return storedTensor(checkpoint, name!).parts.some(
    (part) => part.offset.join() === offset.join() && part.sizes.join() === sizes.join(),
  );
}

/** A sum that is to be read with the parts of this rank. */
export interface HeldPart {
  readonly entry: number;
  readonly place: number;
  readonly want: Want;
}

/**
 * The sums in parts of a window that this rank goes on with.
 *
 * @throws AccError `ACC_CHECKPOINT_MISMATCH` where sums that were not reduced were held in other parts: they are in units of
 * the rank that held them.
 */
export function heldParts(
  { held, isReduced }: AccumulationEntry<StoredReference>,
  variableOf: (storedName: string) => Variable,
  { names, storedName, checkpoint }: HeldPartsContext,
): HeldPart[] {
  return held.flatMap(({ variables, sums }, entry) =>
    sums.flatMap((sum, place) => {
      if (sum !== IN_PARTS) return [];
      const variable = variableOf(variables[place] as string);
      const parts = names.partsOf(variable, variable, folderOf(entry), storedName);
      if (!isReduced && !parts?.every((part) => isStored(part, checkpoint))) throw otherParameters();
      return [{ entry, place, want: { name: folderOf(entry), held: { shape: variable.shape, parts } } }];
    }),
  );
}

/**
 * @param sumOf Gives the sum in parts of an entry for the variable at a place.
 */
export function windowState(
  { done, held }: AccumulationEntry<Tensor>,
  variableOf: (storedName: string) => Variable,
  sumOf: (entry: number, place: number) => Tensor,
): AccumulationState {
  return {
    done,
    held: held.map(({ variables, counts: { own, all, samples }, sums, ...rest }, entry): HeldPasses => ({
      ...rest,
      variables: variables.map((name) => variableOf(name as string)),
      counts: { own, all, samples },
      sums: sums.map((sum, place) => (sum === IN_PARTS ? sumOf(entry, place) : sum)),
    })),
  };
}

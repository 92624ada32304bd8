import type { Optimizer, Tensor, Variable } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { optimizerStateOf } from '../presets/kernels.js';
import { union, type NamedTensors } from './named-tensors.js';

/** An optimizer in a checkpoint. */
export interface OptimizerEntry<T> {
  readonly kind: string;
  readonly iterations?: number;
  readonly learningRate?: number;
  /** Bits of an element of packed state. Absent: no state is packed. */
  readonly stateBits?: number;
  /**
   * For each kind of state, the names of the whole tensors that have it, in the order of the
   * optimizer's own list.
   */
  readonly slots?: Readonly<Record<string, readonly string[]>>;
  readonly scalars?: readonly T[];
  /** The state of an optimizer class that only `getWeights` and `setWeights` give access to. */
  readonly weights?: readonly { readonly name: string; readonly value: T }[];
}

type OptimizerState = NonNullable<ReturnType<typeof optimizerStateOf>>;

export interface OptimizerContext {
  readonly parameters: readonly Variable[];
  readonly names: NamedTensors;
  /** Returns the prefix of the names of one kind of this optimizer's state. */
  readonly folderOf: (kind: string) => string;
}

/**
 * @param made Receives tensors that were made for the entry. They are to be disposed after its use.
 * @throws AccError `ACC_STATE_INVALID` for state that cannot be stored by name.
 */
export async function optimizerEntry(
  optimizer: Optimizer,
  context: OptimizerContext,
  created: Tensor[],
): Promise<OptimizerEntry<Tensor>> {
  const kind = optimizer.getClassName();
  const state = optimizerStateOf(optimizer);
  if (!state) {
    requireWholes(kind, context);
    const weights = (await weightsOf(optimizer)).map(({ name, tensor }) => ({ name, value: tensor }));
    // The optimizer's own state is variables. The step count is a tensor made for this call.
    created.push(...weights.flatMap(({ value }) => ('assign' in value ? [] : [value])));
    return { kind, weights };
  }
  const slots = Object.entries(state.slots).map(([suffix, list]): [string, string[]] => [
    suffix,
    list.flatMap(({ originalName, variable }) =>
      addSlot(variable, originalName.slice(0, -suffix.length - 1), suffix, { ...context, state }),
    ),
  ]);
  const { iterations, learningRate, scalars, stateBits } = state;
  return {
    kind,
    iterations,
    ...(stateBits < 32 && { stateBits }),
    ...(learningRate !== undefined && { learningRate }),
    slots: Object.fromEntries(slots),
    scalars,
  };
}

/** @throws AccError `ACC_STATE_INVALID` if the class of the optimizer cannot save its state. */
async function weightsOf(optimizer: Optimizer): ReturnType<Optimizer['getWeights']> {
  try {
    return await optimizer.getWeights();
  } catch (cause) {
    const { name } = optimizer.constructor;
    throw new AccError(
      'ACC_STATE_INVALID',
      `The state of the optimizer ${name} cannot be saved: ${cause instanceof Error ? cause.message : String(cause)}`,
      {
        cause,
        help: `Add 'async getWeights()' to ${name}, which returns its state as a list of {name, tensor}, and 'async setWeights(list)', which takes the list back. Optimizers of tf.train show both.`,
      },
    );
  }
}

/** @param ofName The name of the variable that the state belongs to. */
function addSlot(
  slot: Variable,
  ofName: string,
  suffix: string,
  { parameters, names, folderOf, state }: OptimizerContext & { readonly state: OptimizerState },
): string[] {
  const owner = parameters.find(({ name }) => name === ofName);
  if (!owner) return names.addWhole(slot, ofName, folderOf(suffix));
  if (isFullOnRanks(suffix, owner, { names, state })) {
    return names.addWhole(slot, names.nameOf(owner), folderOf(suffix));
  }
  return names.add(slot, owner, folderOf(suffix), state.packingOf(suffix, owner));
}

/** Whether every rank has the whole state of one kind of a parameter, whatever it holds of the parameter. */
export function isFullOnRanks(
  kind: string,
  parameter: Variable,
  { names, state }: { readonly names: NamedTensors; readonly state: OptimizerState },
): boolean {
  // If the variable itself has the shape of a shard, the optimizer does not know the whole one.
  return names.localOf(parameter) !== parameter && state.isWhole(kind, parameter);
}

/**
 * Rejects sharded parameters: `getWeights` does not tell which of its tensors belongs to which
 * parameter.
 */
function requireWholes(kind: string, { parameters, names }: OptimizerContext): void {
  const sharded = parameters.find((each) => names.isSharded(each));
  if (!sharded) return;
  throw new AccError(
    'ACC_STATE_INVALID',
    `Ranks hold shards of '${sharded.name}', but it is not known which tensors of a ${kind} belong to which parameter.`,
    { help: 'Use an optimizer of tf.train or of @acc/core.' },
  );
}

/** The description of an optimizer that ranks exchange. */
export interface OptimizerOutline {
  readonly kind: string;
  readonly slots: Readonly<Record<string, readonly string[]>>;
  /** Names from `getWeights`, for classes without known slots. */
  readonly weights: readonly string[];
}

export function outlineOf({ kind, slots = {}, weights = [] }: OptimizerEntry<unknown>): OptimizerOutline {
  return { kind, slots, weights: weights.map(({ name }) => name) };
}

/**
 * The entries of this rank, with the names of the state on all ranks.
 *
 * @param all The optimizers of each rank, by rank.
 * @throws AccError `ACC_STATE_INVALID` if ranks have different optimizers or kinds of state.
 */
export function mergedOptimizers(
  local: readonly OptimizerEntry<Tensor>[],
  all: readonly (readonly OptimizerOutline[])[],
): OptimizerEntry<Tensor>[] {
  const described = all.map((list) => list.map(describe).join(', ') || 'none');
  if (new Set(described).size > 1) throw differ(described);
  return local.map((entry, i) => ({
    ...entry,
    ...(entry.slots && {
      slots: Object.fromEntries(
        Object.keys(entry.slots).map((kind) => [kind, union(all.map((list) => list[i]!.slots[kind]!))]),
      ),
    }),
  }));
}

const describe = ({ kind, slots, weights }: OptimizerOutline): string => {
  const known = [...Object.keys(slots), ...weights];
  return known.length > 0 ? `${kind} (${known.join(', ')})` : kind;
};

function differ(described: readonly string[]): AccError {
  const listed = described.map((optimizers, rank) => `rank ${rank}: ${optimizers}`);
  return new AccError(
    'ACC_STATE_INVALID',
    `Ranks have prepared different optimizers: ${listed.join('; ')}.`,
    {
      help: 'Prepare the same optimizers in the same order on every rank.',
      details: { optimizers: described },
    },
  );
}

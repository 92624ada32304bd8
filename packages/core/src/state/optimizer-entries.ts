import type { Optimizer, Tensor, Variable } from '@tensorflow/tfjs-core';
import type { StoredReference, Want } from '@acc/checkpoint';
import { AccError } from '@acc/contract';
import { optimizerStateOf } from '../presets/kernels.js';
import type { NamedTensors } from './named-tensors.js';
import { assignTaken, takeOver, type Restoration } from './restoration.js';

/** State that an optimizer keeps for one variable. */
interface SlotEntry<T> {
  /** The variable's place among the parameters; null for one that was not prepared. */
  readonly parameter: number | null;
  /** The variable's name, a slash and the kind. */
  readonly name: string;
  readonly value: T;
}

/** An optimizer in a checkpoint. */
export interface OptimizerEntry<T> {
  readonly kind: string;
  readonly iterations?: number;
  readonly learningRate?: number;
  readonly slots?: Readonly<Record<string, readonly SlotEntry<T>[]>>;
  readonly scalars?: readonly T[];
  /** Of a class that is known by `getWeights` and `setWeights` only. */
  readonly weights?: readonly { readonly name: string; readonly value: T }[];
}

export interface OptimizerContext {
  readonly parameters: readonly Variable[];
  readonly names: NamedTensors;
  /** What tensors of this optimizer are called. */
  readonly folder: string;
}

/** @param made Takes tensors that were made for the entry, to be disposed after it was used. */
export async function optimizerEntry(
  optimizer: Optimizer,
  context: OptimizerContext,
  made: Tensor[],
): Promise<OptimizerEntry<Tensor>> {
  const kind = optimizer.getClassName();
  const state = optimizerStateOf(optimizer);
  if (!state) {
    const weights = (await optimizer.getWeights()).map(({ name, tensor }) => ({ name, value: tensor }));
    // State that it keeps are variables; the count of steps is made for the call.
    made.push(...weights.flatMap(({ value }) => ('assign' in value ? [] : [value])));
    return { kind, weights };
  }
  const slots = Object.entries(state.slots).map(([suffix, list]) => [
    suffix,
    list.map(({ originalName, variable }) => slotEntry(originalName, variable, suffix, context)),
  ]);
  const { iterations, learningRate, scalars } = state;
  return {
    kind,
    iterations,
    ...(learningRate !== undefined && { learningRate }),
    slots: Object.fromEntries(slots) as Record<string, SlotEntry<Tensor>[]>,
    scalars,
  };
}

function slotEntry(
  name: string,
  variable: Variable,
  suffix: string,
  { parameters, names, folder }: OptimizerContext,
): SlotEntry<Tensor> {
  const ofName = name.slice(0, -suffix.length - 1);
  const parameter = parameters.findIndex((each) => each.name === ofName);
  const owner = parameters[parameter];
  names.addState(variable, owner, `${folder}/${suffix}`, owner ? names.nameOf(owner) : ofName);
  return { parameter: parameter < 0 ? null : parameter, name, value: variable };
}

/** @throws AccError `ACC_CHECKPOINT_MISMATCH`. */
export function restoreOptimizer(
  optimizer: Optimizer,
  entry: OptimizerEntry<StoredReference>,
  context: OptimizerContext,
): Restoration {
  const kind = optimizer.getClassName();
  const state = optimizerStateOf(optimizer);
  if (kind !== entry.kind || !state === (entry.weights === undefined)) throw otherOptimizer(entry.kind, kind);
  if (!state) return restoreWeights(optimizer, entry.weights!);
  const { slots = {}, scalars = [] } = entry;
  const kinds = Object.keys(state.slots);
  if (kinds.join() !== Object.keys(slots).join() || scalars.length !== state.scalars.length) {
    throw otherOptimizer(`${kind} with ${Object.keys(slots).join()}`, `${kind} with ${kinds.join()}`);
  }
  const wanted = kinds.flatMap((suffix) =>
    slots[suffix]!.map((slot) => ({ suffix, slot, want: wantOfSlot(slot, suffix, context) })),
  );
  return {
    wants: [...wanted.map(({ want }) => want), ...scalars],
    apply(tensors) {
      for (const suffix of kinds) {
        for (const { variable } of state.slots[suffix]!.splice(0)) variable.dispose();
      }
      wanted.forEach(({ suffix, slot }, i) => {
        const { parameters } = context;
        const owner = slot.parameter === null ? undefined : parameters[slot.parameter];
        const originalName = owner ? `${owner.name}/${suffix}` : slot.name;
        state.slots[suffix]!.push({ originalName, variable: takeOver(tensors[i]!) });
      });
      state.scalars.forEach((scalar, i) => assignTaken(scalar, tensors[wanted.length + i]!));
      state.iterations = entry.iterations!;
      state.learningRate = entry.learningRate;
    },
  };
}

function wantOfSlot(
  { parameter, value }: SlotEntry<StoredReference>,
  suffix: string,
  { parameters, names, folder }: OptimizerContext,
): Want {
  const owner = parameter === null ? undefined : parameters[parameter];
  if (!owner) return value;
  const parts = names.partsOf(owner, owner, `${folder}/${suffix}`);
  return parts ? { name: value.name, held: { shape: owner.shape, parts } } : value;
}

function restoreWeights(
  optimizer: Optimizer,
  weights: NonNullable<OptimizerEntry<StoredReference>['weights']>,
): Restoration {
  return {
    wants: weights.map(({ value }) => value),
    async apply(tensors) {
      await optimizer.setWeights(weights.map(({ name }, i) => ({ name, tensor: tensors[i]! })));
      for (const tensor of tensors) if (!tensor.isDisposed) tensor.dispose();
    },
  };
}

function otherOptimizer(stored: string, here: string): AccError {
  return new AccError(
    'ACC_CHECKPOINT_MISMATCH',
    `The checkpoint has an optimizer ${stored} where ${here} is prepared.`,
    {
      help: 'Prepare the same optimizers, in the same order, with the same options, before loadState.',
      details: { stored, here },
    },
  );
}

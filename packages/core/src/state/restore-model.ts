import type { Optimizer, Tensor, Variable } from '@tensorflow/tfjs-core';
import type { StoredReference, Want } from '@acc/checkpoint';
import { AccError, type NativeDtype } from '@acc/contract';
import { assignRecords, packedOf } from '@acc/kernels';
import { optimizerStateOf, packedShapeOf, type Packing } from '../presets/kernels.js';
import { PARAMETERS, slotFolder, type ModelState } from './model-state.js';
import type { NamedTensors } from './named-tensors.js';
import { isFullOnRanks, type OptimizerEntry } from './optimizer-entries.js';
import { assignAndDispose, takeOver, type Restoration } from './restoration.js';

/** The model of this run that is to be restored. */
export interface ModelContext {
  readonly parameters: readonly Variable[];
  readonly optimizers: readonly Optimizer[];
  readonly names: NamedTensors;
  /** Maps the name of a whole tensor here to its name in the checkpoint. */
  readonly storedName: (name: string) => string;
  /** The prefix of the names of the model's tensors in the checkpoint. */
  readonly root: string;
  /** Names of tensors that this rank reads in place of weights of the model. */
  readonly buffers: ReadonlyMap<string, string>;
}

/**
 * @throws AccError `ACC_CHECKPOINT_MISMATCH` if the prepared optimizers differ from those of the
 * checkpoint.
 */
export function restoreModel(stored: ModelState<StoredReference>, context: ModelContext): Restoration[] {
  const { optimizers } = context;
  if (optimizers.length !== stored.optimizers.length) {
    throw mismatch(
      `The checkpoint has ${stored.optimizers.length} optimizers, but ${optimizers.length} are prepared.`,
    );
  }
  return [
    restoreParameters(context),
    ...optimizers.map((optimizer, i) => {
      const entry = stored.optimizers[i]!;
      const folderOf = (kind: string) => slotFolder(context.root, i, kind);
      return restoreOptimizer(optimizer, entry, { ...context, stored: stored.parameters, folderOf });
    }),
  ];
}

function restoreParameters(context: ModelContext): Restoration {
  const { parameters, root, names, storedName, buffers } = context;
  const held = parameters.map((variable) => names.localOf(variable));
  return {
    wants: parameters.map((variable, i) => {
      const shape = names.isSharded(variable) ? undefined : names.recordsOf(variable)?.shape;
      const want = wantOf(variable, shape ?? held[i]!.shape, root + PARAMETERS, context);
      return { ...want, name: buffers.get(storedName(names.nameOf(variable))) ?? want.name };
    }),
    dtypes: parameters.map((variable) => (names.recordsOf(variable) ? 'int32' : variable.dtype)),
    apply: (tensors) => held.forEach((variable, i) => takeValues(variable, tensors[i]!)),
  };
}

/** Gives a variable what was read for it, which is disposed. */
function takeValues(variable: Variable, tensor: Tensor): void {
  if (!packedOf(variable)) return assignAndDispose(variable, tensor);
  assignRecords(variable, tensor);
  tensor.dispose();
}

/** @param shape The shape of the tensor to read. Undefined: the stored shape. */
function wantOf(
  parameter: Variable,
  shape: readonly number[] | undefined,
  folder: string,
  { names, storedName }: ModelContext,
): Want {
  const holder = names.localOf(parameter);
  const shards = names.shardsOf(holder, parameter, folder, { storedName });
  const name = `${folder}/${storedName(names.nameOf(parameter))}`;
  if (!shards && !shape) return { name };
  const dtype = names.recordsOf(parameter) ? 'int32' : (parameter.dtype as NativeDtype);
  return { name, held: { shape: shape ?? holder.shape, shards, dtype } };
}

/** As {@link wantOf}, for state that is packed. */
function wantPacked(
  parameter: Variable,
  packing: Packing,
  folder: string,
  { names, storedName }: ModelContext,
): Want {
  const shape = packedShapeOf(names.localOf(parameter).size, packing);
  const shards = names.shardsOf({ shape }, parameter, folder, { storedName, packing });
  return {
    name: `${folder}/${storedName(names.nameOf(parameter))}`,
    held: { shape, shards, dtype: 'int32' },
  };
}

interface OptimizerContext extends ModelContext {
  /** The names of all weights in the checkpoint, in their order. */
  readonly stored: readonly string[];
  readonly folderOf: (kind: string) => string;
}

function restoreOptimizer(
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
  const stateBits = entry.stateBits ?? 32;
  if (stateBits !== state.stateBits) {
    throw otherOptimizer(`${kind} with stateBits ${stateBits}`, `${kind} with stateBits ${state.stateBits}`);
  }
  const wanted = kinds.flatMap((suffix) => slotsOf(suffix, slots[suffix]!, { ...context, state }));
  return {
    wants: [...wanted.map(({ want }) => want), ...scalars],
    apply(tensors) {
      for (const suffix of kinds) {
        for (const { variable } of state.slots[suffix]!.splice(0)) variable.dispose();
      }
      wanted.forEach(({ suffix, originalName }, i) => {
        state.slots[suffix]!.push({ originalName, variable: takeOver(tensors[i]!) });
      });
      state.scalars.forEach((scalar, i) => assignAndDispose(scalar, tensors[wanted.length + i]!));
      state.iterations = entry.iterations!;
      state.learningRate = entry.learningRate;
    },
  };
}

/** State of one kind for one variable. */
interface WantedSlot {
  readonly suffix: string;
  readonly originalName: string;
  readonly want: Want;
}

/**
 * The state of one kind that this rank reads. An optimizer finds the state of a variable by its
 * position in the list of gradients. If the parameters have the same order in the checkpoint, the
 * state has the order of the checkpoint. Otherwise it has the order in which the parameters were
 * prepared.
 *
 * @param storedFor Names of the whole tensors that have such state in the checkpoint.
 */
function slotsOf(
  suffix: string,
  storedFor: readonly string[],
  context: OptimizerContext & Pick<Parameters<typeof isFullOnRanks>[2], 'state'>,
): WantedSlot[] {
  const { parameters, stored, folderOf, names, storedName } = context;
  const wanted = (parameter: Variable): Want => {
    const packing = context.state.packingOf(suffix, parameter);
    if (packing) return wantPacked(parameter, packing, folderOf(suffix), context);
    return isFullOnRanks(suffix, parameter, context)
      ? { name: `${folderOf(suffix)}/${storedName(names.nameOf(parameter))}` }
      : wantOf(parameter, undefined, folderOf(suffix), context);
  };
  const places = new Map(storedFor.map((name, i) => [name, i]));
  const hasStoredOrder = ascends(
    parameters.flatMap(
      (each) => firstPlace(fullTensorsOf(each, context), (name) => stored.indexOf(name)) ?? [],
    ),
  );
  let place = -1;
  const local = parameters.flatMap((parameter, i) => {
    const wholes = fullTensorsOf(parameter, context);
    if (!hasSlot(parameter, wholes, places, suffix)) return [];
    const storedPlace = hasStoredOrder ? firstPlace(wholes, (name) => places.get(name)!) : i;
    // A variable without elements keeps its position after the variable before it.
    place = storedPlace ?? place + 0.5;
    const slot = { suffix, originalName: `${parameter.name}/${suffix}`, want: wanted(parameter) };
    return [{ place, slot }];
  });
  const ofParameters = new Set(stored);
  const others = storedFor
    .filter((name) => !ofParameters.has(name))
    .map((name) => ({
      place: places.get(name)!,
      slot: { suffix, originalName: `${name}/${suffix}`, want: { name: `${folderOf(suffix)}/${name}` } },
    }));
  return [...local, ...others].sort((a, b) => a.place - b.place).map(({ slot }) => slot);
}

const fullTensorsOf = (parameter: Variable, { names, storedName }: ModelContext): string[] =>
  names.fullTensorsOf(parameter).map(({ name }) => storedName(name));

/**
 * @throws AccError `ACC_CHECKPOINT_MISMATCH` if one shard of the variable has state in the
 * checkpoint and another has none.
 */
function hasSlot(
  { name }: Variable,
  wholes: readonly string[],
  places: ReadonlyMap<string, number>,
  suffix: string,
): boolean {
  const missing = wholes.filter((full) => !places.has(full));
  if (missing.length === 0) return places.size > 0;
  if (missing.length === wholes.length) return false;
  throw mismatch(
    `'${name}' holds shards of several weights, but the checkpoint has no optimizer state '${suffix}' for ${missing.map((each) => `'${each}'`).join(', ')}.`,
    { missing },
  );
}

function firstPlace(names: readonly string[], placeOf: (name: string) => number): number | undefined {
  return names.length === 0 ? undefined : Math.min(...names.map(placeOf));
}

const ascends = (numbers: readonly number[]): boolean =>
  numbers.every((number, i) => i === 0 || numbers[i - 1]! <= number);

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
  return mismatch(`The checkpoint has the optimizer ${stored}, but ${here} is prepared.`, { stored, here });
}

function mismatch(message: string, details: Record<string, unknown> = {}): AccError {
  return new AccError('ACC_CHECKPOINT_MISMATCH', message, {
    help: 'Prepare the same optimizers, in the same order, with the same options, before loadState.',
    details,
  });
}

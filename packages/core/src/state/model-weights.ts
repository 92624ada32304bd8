import { tensor, tidy, type NamedTensorMap, type Variable } from '@tensorflow/tfjs-core';
import { storeChangedWeights } from '@acc/big-model';
import {
  matchWeights,
  together,
  fullBox,
  writeModel,
  type LoadedWeights,
  type LoadWeightsOptions,
  type WeightReceiver,
  type WriteModelOptions,
} from '@acc/checkpoint';
import { assignRecords, packedOf, recordsName, type PackedRecords } from '@acc/kernels';
import { AccError, runsOfShard, type Strategy, type TensorShard } from '@acc/contract';
import { isModel, type ModelInternals } from '@acc/tfjs-internals';
import { FullWeights, type NamedWeight, type WeightContext } from './full-weights.js';

/** A tfjs-layers model, or a list of variables. */
export type Weighted = object | readonly Variable[];

/** The whole weights of all ranks, on every rank, by name. The caller disposes them. */
export function stateDict(model: Weighted, context: WeightContext): NamedTensorMap {
  using wholes = new FullWeights(weightsOf(model), context);
  return wholes.gather();
}

/**
 * Writes the whole weights of all ranks on rank 0, which gathers them one at a time. Every rank
 * calls it.
 */
export async function saveModel(
  model: Weighted,
  path: string,
  options: WriteModelOptions,
  context: WeightContext,
): Promise<void> {
  const { collective, kernels } = context;
  using wholes = new FullWeights(weightsOf(model), context);
  await together(collective, async () => {
    if (collective.rank > 0) return wholes.serve();
    const topology = isModel(model) ? model.toJSON(null, false) : undefined;
    try {
      await writeModel(path, { topology, weights: wholes.written }, options, kernels.state);
    } finally {
      wholes.end();
    }
  });
}

/**
 * Loads weights from files. Each rank reads the elements that it holds, one weight after the other.
 * Every rank calls it.
 */
export async function loadModel(
  model: Weighted,
  path: string,
  options: LoadWeightsOptions,
  context: WeightContext,
): Promise<LoadedWeights> {
  const { collective, kernels, strategy } = context;
  const receivers = receiversFor(model, strategy);
  const names = collective.allGatherObject(receivers.map(({ name }) => name)).flat();
  const matched = await together(collective, () => matchWeights(receivers, path, options, names));
  await together(collective, () => matched.assign(kernels.state));
  return matched.report;
}

/** Receivers of the elements of the weights that this rank holds. */
export function receiversFor(model: Weighted, strategy: Strategy): WeightReceiver[] {
  return weightsOf(model).flatMap(({ name: ownName, variable }) => {
    const shards = strategy.layout?.shardsOf(variable);
    const packed = packedOf(variable)?.records;
    const name = packed ? recordsName(ownName, packed) : ownName;
    if (packed && !shards) return [receiverOfRecords(name, variable, packed)];
    return shards
      ? receiversOfShards(name, { variable, held: strategy.layout?.localOf?.(variable) ?? variable, shards })
      : [receiverOf(name, variable)];
  });
}

/** Whether ranks hold shards of a weight of the model. */
export function isSharded(model: Weighted, strategy: Strategy): boolean {
  return weightsOf(model).some(({ variable }) => strategy.layout?.shardsOf(variable) !== undefined);
}

/** Whether any weights of the model are prepared. */
export function isPrepared(model: Weighted, prepared: { has(variable: Variable): boolean }): boolean {
  return weightsOf(model).some(({ variable }) => prepared.has(variable));
}

/** @throws AccError `ACC_INVALID_ARGUMENT` if `model` is neither a model nor a list. */
function weightsOf(model: Weighted): NamedWeight[] {
  if (isModel(model)) {
    return (model as ModelInternals).weights.map((weight) => ({
      name: weight.originalName,
      variable: weight.read(),
    }));
  }
  if (Array.isArray(model)) {
    return (model as Variable[]).map((variable) => ({ name: variable.name, variable }));
  }
  throw new AccError('ACC_INVALID_ARGUMENT', 'Expected a tf.LayersModel or a list of tf.Variable.', {
    help: 'Pass the model itself, not its weights as tensors.',
  });
}

function receiverOf(name: string, variable: Variable): WeightReceiver {
  const { shape, dtype } = variable;
  const boxes = [fullBox(shape)];
  return {
    name,
    variable: variable.name,
    shape,
    dtype,
    boxes,
    assign([values]) {
      variable.assign(values!);
      storeChangedWeights();
    },
  };
}

/** A packed variable takes what a file has of the same format. */
function receiverOfRecords(name: string, variable: Variable, records: PackedRecords): WeightReceiver {
  const { shape } = records;
  return {
    ...{ name, variable: variable.name, shape, dtype: 'int32', boxes: [fullBox(shape)] },
    assign: ([values]) => assignRecords(variable, values!),
  };
}

interface ShardedVariable {
  readonly variable: Variable;
  /** Has the elements that this rank holds. */
  readonly held: Variable;
  readonly shards: readonly TensorShard[];
}

/** A receiver for each whole tensor, with the boxes that this rank holds. */
function receiversOfShards(name: string, { variable, held, shards }: ShardedVariable): WeightReceiver[] {
  const { dtype } = held;
  const shapes = new Map(shards.map((shard) => [shard.name ?? name, shard.shape]));
  return Array.from(shapes, ([whole, shape]) => {
    const boxes = shards.filter((each) => (each.name ?? name) === whole && !each.sizes.includes(0));
    return {
      name: whole,
      variable: variable.name,
      shape,
      dtype,
      boxes,
      assign(values) {
        // A variable of which this rank has no elements is assigned too: its unit may have whole values in memory.
        if (boxes.length === 0 && held.size > 0) return;
        const elements = held.dataSync().slice();
        boxes.forEach((box, i) => {
          const given = values[i]!.dataSync();
          for (const { inBox, inVariable, length } of runsOfShard(box))
            elements.set(given.subarray(inBox, inBox + length), inVariable);
        });
        tidy(() => held.assign(tensor(elements, held.shape, dtype)));
      },
    };
  });
}

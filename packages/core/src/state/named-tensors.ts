import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { NamedTensor } from '@acc/checkpoint';
import { AccError, type Strategy, type TensorShard } from '@acc/contract';
import { packedOf, recordsName, type PackedRecords } from '@acc/kernels';
import type { Packing } from '../presets/kernels.js';
import { accumulatesReduced } from '../step/pass.js';
import { weightName } from '../prepare/model-weights.js';
import { packedShards } from './packed-shards.js';

interface ShardNaming {
  readonly storedName?: (name: string) => string;
  readonly packing?: Packing | undefined;
}

/** A whole tensor of which this rank holds all or some elements. */
export interface NamedShape {
  readonly name: string;
  readonly shape: readonly number[];
}

/**
 * The names that the tensors of a run have in a checkpoint, and the shards of whole tensors that
 * they are.
 */
export class NamedTensors {
  readonly #strategy: Strategy;
  readonly #names = new Map<Variable, string>();
  readonly #added: NamedTensor[] = [];

  /** @param parameters All parameters whose names are needed, in the order of preparation. */
  constructor(strategy: Strategy, parameters: readonly Variable[]) {
    this.#strategy = strategy;
    const taken = new Set<string>();
    for (const variable of parameters) {
      const wanted = weightName(variable);
      const name = taken.has(wanted) ? variable.name : wanted;
      const records = this.recordsOf(variable);
      this.#names.set(variable, records ? recordsName(name, records) : name);
      taken.add(name);
    }
  }

  /** The name of a parameter in files. */
  nameOf(parameter: Variable): string {
    return this.#names.get(parameter)!;
  }

  /** The whole tensors that the elements of a parameter belong to. */
  fullTensorsOf(parameter: Variable): NamedShape[] {
    const name = this.nameOf(parameter);
    const shards = this.#strategy.layout?.shardsOf(parameter);
    if (!shards) return [{ name, shape: this.recordsOf(parameter)?.shape ?? parameter.shape }];
    const shapes = new Map(shards.map((shard) => [shard.name ?? name, shard.shape]));
    return Array.from(shapes, ([whole, shape]) => ({ name: whole, shape }));
  }

  /** The variable that has this rank's elements of a parameter. */
  localOf(parameter: Variable): Variable {
    return this.#strategy.layout?.localOf?.(parameter) ?? parameter;
  }

  /** The records of a parameter that is packed; undefined for any other. */
  recordsOf(parameter: Variable): PackedRecords | undefined {
    return packedOf(parameter)?.records;
  }

  /** Whether gradients are reduced before they are accumulated. */
  get accumulatesReduced(): boolean {
    return accumulatesReduced(this.#strategy);
  }

  /** Whether ranks hold shards of the parameter. */
  isSharded(parameter: Variable): boolean {
    return this.#strategy.layout?.shardsOf(parameter) !== undefined;
  }

  /** The tensors that were added for a save. */
  get added(): readonly NamedTensor[] {
    return this.#added;
  }

  /**
   * Adds a parameter, or optimizer state of it, to a save.
   *
   * @param folder The prefix of the names.
   * @param packing That of state that is packed.
   * @returns The names of the whole tensors, without the folder.
   * @throws AccError as {@link shardsOf}.
   */
  add(tensor: Tensor, parameter: Variable, folder: string, packing?: Packing): string[] {
    const shards = this.shardsOf(tensor, parameter, folder, { packing });
    if (!shards) return this.addWhole(tensor, this.nameOf(parameter), folder);
    this.#added.push({ name: `${folder}/${this.nameOf(parameter)}`, tensor, shards });
    return this.fullTensorsOf(parameter).map(({ name }) => name);
  }

  /** Adds a whole tensor, which is the same on every rank that has it. */
  addWhole(tensor: Tensor, name: string, folder: string): string[] {
    this.#added.push({ name: `${folder}/${name}`, tensor, ...(packedOf(tensor) && { isPacked: true }) });
    return [name];
  }

  /**
   * The shards that `held` consists of. `held` is a parameter or optimizer state of it. Undefined if
   * it is a whole tensor.
   *
   * @param about.storedName Maps the name of a whole tensor to its name in the checkpoint. Default: the
   * same name.
   * @param about.packing That of state that is packed.
   * @throws AccError `ACC_STATE_INVALID` for state of a sharded parameter that has another shape.
   */
  shardsOf(
    held: { readonly shape: readonly number[] },
    parameter: Variable,
    folder: string,
    { storedName = (name) => name, packing }: ShardNaming = {},
  ): TensorShard[] | undefined {
    const own = this.#strategy.layout?.shardsOf(parameter);
    if (!own) return undefined;
    const shards = packing ? packedShards(parameter, own, packing) : own;
    const expected = packing ? (shards[0]?.sizes[0] ?? 0) : this.localOf(parameter).shape.join();
    if ((packing ? held.shape[0] : held.shape.join()) !== expected) {
      throw new AccError(
        'ACC_STATE_INVALID',
        `The optimizer keeps a tensor of shape [${held.shape.join()}] for '${parameter.name}', but ranks hold shards of that parameter with the shape [${parameter.shape.join()}].`,
        { help: 'Use an optimizer whose state has the shape of the parameter, for example Adam.' },
      );
    }
    const local = this.nameOf(parameter);
    return shards.map((shard) => ({ ...shard, name: `${folder}/${storedName(shard.name ?? local)}` }));
  }
}

/** Each name once, in the order of the lists. */
export function union(lists: readonly (readonly string[])[]): string[] {
  return [...new Set(lists.flat())];
}

import {
  clone,
  keep,
  pad,
  reshape,
  slice,
  tensor,
  tidy,
  util,
  type NamedTensorMap,
  type Tensor,
  type Variable,
} from '@tensorflow/tfjs-core';
import {
  sharedRuns,
  fullBox,
  fullTensorsOf,
  type Box,
  type Claim,
  type BoxOwners,
  type FullTensor,
  type WrittenWeight,
} from '@acc/checkpoint';
import { packedLike, packedOf, recordsName, recordTensor, type PackedRecords } from '@acc/kernels';
import type { Collective, KernelLayer, NativeDtype, Strategy, TensorBytes, TensorShard } from '@acc/contract';

/** A weight and its name in files. */
export interface NamedWeight {
  readonly name: string;
  readonly variable: Variable;
}

export interface WeightContext {
  readonly collective: Collective;
  readonly kernels: KernelLayer;
  readonly strategy: Strategy;
}

/** The elements of a box in a tensor of this rank. */
interface OwnBox extends Pick<TensorShard, 'start' | 'runs'> {
  /** The tensor, or makes it in the scope of the call. */
  tensor(): Tensor;
}

/**
 * Gathers weights as whole tensors. A rank may hold all elements of a weight, a shard, or none.
 * Elements are sent to other ranks one whole tensor at a time. Every rank constructs it with its
 * own weights and disposes it.
 */
export class FullWeights implements Disposable {
  readonly #context: WeightContext;
  readonly #wholes: readonly FullTensor[];
  readonly #local = new Map<string, OwnBox>();
  /** Clones that keep the current values of the variables. */
  readonly #held: Tensor[] = [];
  /** Packed variables, by the names of their records. */
  readonly #packed = new Map<string, NamedWeight>();
  /** Variables whose values the strategy materializes, by name. The same on every rank. */
  readonly #materialized = new Map<string, Variable>();

  /** @throws AccError `ACC_STATE_INVALID`, on all ranks, if ranks disagree on a tensor. */
  constructor(weights: readonly NamedWeight[], context: WeightContext) {
    this.#context = context;
    const claims = context.collective.allGatherObject(weights.flatMap((weight) => this.#claimsOf(weight)));
    this.#wholes = fullTensorsOf(claims);
  }

  /** Whether rank 0 needs elements of other ranks. The same on every rank. */
  get needsOthers(): boolean {
    return this.#wholes.some((full) => this.#isElsewhere(full));
  }

  /**
   * On rank 0: the weights. They may be opened in any order, one at a time. Call {@link end}
   * afterwards.
   */
  get written(): WrittenWeight[] {
    return this.#wholes.map((full, place) => ({
      name: full.name,
      dtype: full.dtype as NativeDtype,
      shape: full.shape,
      open: () => this.#open(full, place),
    }));
  }

  /** On rank 0: tells the other ranks that no more weights will be opened. */
  end(): void {
    if (this.needsOthers) this.#context.collective.broadcastObject(null);
  }

  /** On other ranks: sends rank 0 the weights that it opens, until it calls {@link end}. */
  serve(): void {
    if (!this.needsOthers) return;
    const { collective } = this.#context;
    for (;;) {
      const place = collective.broadcastObject<number | null>(null);
      if (place === null) return;
      const full = this.#wholes[place]!;
      if (this.#materialized.has(full.name)) this.#materialize(full).dispose();
      else {
        for (const box of full.boxes) {
          if (sourceOf(box) !== collective.rank) continue;
          const elements = this.#elementsOf(full, box);
          collective.send(elements, 0);
          elements.dispose();
        }
      }
    }
  }

  /** On every rank: all weights by name. The caller disposes them. */
  gather(): NamedTensorMap {
    return Object.fromEntries(
      this.#wholes.map((full) => {
        const packed = this.#packed.get(full.name);
        return packed ? [packed.name, this.#gatheredPacked(packed, full)] : [full.name, this.#gathered(full)];
      }),
    );
  }

  [Symbol.dispose](): void {
    for (const held of this.#held) held.dispose();
  }

  #claimsOf({ name: ownName, variable }: NamedWeight): Claim[] {
    const { strategy, kernels } = this.#context;
    const given = strategy.layout?.shardsOf(variable);
    const packed = packedOf(variable)?.records;
    const storedName = packed ? recordsName(ownName, packed) : ownName;
    if (packed) this.#packed.set(storedName, { name: ownName, variable });
    const full: TensorShard = { shape: variable.shape, ...fullBox(variable.shape), start: 0 };
    if (packed && !given) return [this.#claimOfRecords(packed, storedName)];
    const isGiven = !given && strategy.materialize !== undefined && strategy.traits.parameters === 'sharded';
    if (isGiven) {
      this.#materialized.set(ownName, variable);
      return [{ name: ownName, dtype: variable.dtype, shape: full.shape, ...fullBox(full.shape) }];
    }
    const held = keep(clone(strategy.layout?.localOf?.(variable) ?? variable));
    this.#held.push(held);
    const dtype = kernels.state.dtypeOf(held);
    return (given ?? [full]).map(({ name = storedName, shape, offset, sizes, ...local }) => {
      this.#local.set(keyOf(name, { offset, sizes }), { tensor: () => held, ...local });
      return { name, dtype, shape, offset, sizes };
    });
  }

  /** Records that this rank has completely. They are made one weight at a time. */
  #claimOfRecords(records: PackedRecords, name: string): Claim {
    const { shape } = records;
    const box = fullBox(shape);
    this.#local.set(keyOf(name, box), { tensor: () => recordTensor(records), start: 0 });
    return { name, dtype: 'int32', shape, ...box };
  }

  #gatheredPacked({ variable }: NamedWeight, full: FullTensor): Tensor {
    if (!this.#context.strategy.layout?.shardsOf(variable)) return variable.clone();
    const records = this.#gathered(full);
    const packed = packedLike(packedOf(variable)!.records, records);
    records.dispose();
    return packed;
  }

  #isElsewhere({ name, boxes }: FullTensor): boolean {
    return this.#materialized.has(name) || boxes.some((box) => sourceOf(box) !== 0);
  }

  async #open(full: FullTensor, place: number): Promise<TensorBytes> {
    const { collective, kernels } = this.#context;
    if (this.#isElsewhere(full)) collective.broadcastObject(place);
    if (this.#materialized.has(full.name)) return await bytesAlone(this.#materialize(full), kernels);
    const [first] = full.boxes;
    if (!first)
      return await bytesAlone(kernels.state.allocate(full.dtype as NativeDtype, [0]).toTensor(), kernels);
    if (full.boxes.length === 1) return await bytesAlone(this.#received(full, first), kernels);
    return await this.#assembled(full);
  }

  /** On rank 0: the elements of all boxes. Memory of the backend is free again at once. */
  async #assembled(full: FullTensor): Promise<TensorBytes> {
    const { kernels } = this.#context;
    const target = kernels.state.allocate(full.dtype as NativeDtype, full.shape);
    const { bytes } = target;
    try {
      for (const box of full.boxes) {
        using opened = await bytesAlone(this.#received(full, box), kernels);
        const size = opened.bytes.length / util.sizeFromShape([...box.sizes]);
        for (const { from, to, length } of sharedRuns(box, fullBox(full.shape))) {
          bytes.set(opened.bytes.subarray(from * size, (from + length) * size), to * size);
        }
      }
    } catch (error) {
      target.dispose();
      throw error;
    }
    const dispose = () => target.dispose();
    return { bytes, dispose, [Symbol.dispose]: dispose };
  }

  /** On rank 0: the elements of a box as a flat tensor. */
  #received(full: FullTensor, box: BoxOwners): Tensor {
    const source = sourceOf(box);
    return source === 0 ? this.#elementsOf(full, box) : this.#context.collective.recv(source);
  }

  #gathered(full: FullTensor): Tensor {
    const { collective } = this.#context;
    if (this.#materialized.has(full.name)) return this.#materialize(full);
    const shape = [...full.shape];
    const [first] = full.boxes;
    if (!first) return this.#context.kernels.state.allocate(full.dtype as NativeDtype, shape).toTensor();
    if (full.boxes.length > 1) return this.#joined(full);
    const isEverywhere = first.ranks.length === collective.size;
    const elements = isEverywhere ? this.#elementsOf(full, first) : this.#broadcast(full, first);
    const shaped = tidy(() => reshape(elements, shape));
    elements.dispose();
    return shaped;
  }

  #joined(full: FullTensor): Tensor {
    const shape = [...full.shape];
    let values: Float32Array | undefined;
    let dtype: Tensor['dtype'] = 'float32';
    for (const box of full.boxes) {
      const elements = this.#broadcast(full, box);
      const given = elements.dataSync<'float32'>();
      dtype = elements.dtype;
      values ??= new (given.constructor as Float32ArrayConstructor)(util.sizeFromShape(shape));
      for (const { from, to, length } of sharedRuns(box, fullBox(shape))) {
        values.set(given.subarray(from, from + length), to);
      }
      elements.dispose();
    }
    return tensor(values!, shape, dtype);
  }

  #broadcast(full: FullTensor, box: BoxOwners): Tensor {
    const { collective, kernels } = this.#context;
    const source = box.ranks[0]!;
    const count = util.sizeFromShape([...box.sizes]);
    const given =
      source === collective.rank
        ? this.#elementsOf(full, box)
        : kernels.state.allocate(full.dtype as NativeDtype, [count]).toTensor();
    const elements = collective.broadcast(given, source);
    given.dispose();
    return elements;
  }

  /** The elements of a box that this rank holds, as a flat tensor. */
  #elementsOf({ name }: FullTensor, box: Box): Tensor {
    const { tensor: makeHeld, start, runs } = this.#local.get(keyOf(name, box))!;
    const count = util.sizeFromShape([...box.sizes]);
    return tidy(() => {
      const held = makeHeld();
      const flat = reshape(held, [-1]);
      if (count === held.size) return flat;
      if (!runs) return slice(flat, [start], [count]);
      // The last run ends before its step does, where the tensor may end.
      const length = count / runs.count;
      const spread = slice(flat, [start], [(runs.count - 1) * runs.step + length]);
      const steps = reshape(pad(spread, [[0, runs.step - length]]), [runs.count, runs.step]);
      return reshape(slice(steps, [0, 0], [runs.count, length]), [count]);
    });
  }

  #materialize({ name }: FullTensor): Tensor {
    const [value] = this.#context.strategy.materialize!([this.#materialized.get(name)!]);
    return value!;
  }
}

/** The rank that sends rank 0 the elements of a box. */
function sourceOf({ ranks }: BoxOwners): number {
  return ranks[0]!;
}

const keyOf = (name: string, { offset, sizes }: Box): string => `${name}\n${offset.join()}\n${sizes.join()}`;

/** The bytes of a tensor. Disposes the tensor; the bytes keep its memory. */
async function bytesAlone(x: Tensor, { state }: KernelLayer): Promise<TensorBytes> {
  const opened = await state.bytesOf(x);
  x.dispose();
  return opened;
}

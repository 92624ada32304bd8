import type { Tensor } from '@tensorflow/tfjs-core';
import type { DividedMemory, DivideMemory } from '@acc/contract';
import type { Range, UnitLayout } from './layout.js';
import type { Shard } from './shard.js';

export interface FullBufferContext {
  readonly layout: UnitLayout;
  readonly shards: readonly Shard[];
  /** Undefined if the active backend cannot divide memory: shards then have memory of their own. */
  readonly divide: () => DivideMemory | undefined;
}

/**
 * The flat buffer of a unit whose whole values every rank keeps (stages 1 and 2). This rank's
 * elements lie in it, so that they take no memory beside it: an optimizer changes them there, and
 * the next gather writes the elements of other ranks around them.
 */
export class FullBuffer {
  #memory: DividedMemory | undefined;
  #isLent = false;
  #isUpdating = false;

  readonly #divide: FullBufferContext['divide'];
  /** Shards with elements on this rank. */
  readonly #filled: readonly Shard[];
  /** Where the elements of {@link #filled} are in the flat buffer. */
  readonly #ranges: readonly Range[];

  constructor({ layout, shards, divide }: FullBufferContext) {
    this.#divide = divide;
    const filled = shards.flatMap((shard, i) =>
      shard.length > 0 ? [{ shard, offset: layout.offsets[i]! }] : [],
    );
    this.#filled = filled.map(({ shard }) => shard);
    this.#ranges = filled.map(({ shard: { placement }, offset }) => ({
      begin: offset + placement.begin,
      end: offset + placement.end,
    }));
  }

  /**
   * The tensor to gather into, in which this rank's elements lie. Undefined if a gather needs new
   * memory. Called while the variables have no values.
   */
  lend(): Tensor | undefined {
    this.#isLent = false;
    const memory = this.#memory;
    // Values that are read during an update must not change with it.
    if (!memory || this.#isUpdating) return undefined;
    if (memory.isUnused && this.#filled.every(({ isPlaced }) => isPlaced)) {
      this.#isLent = true;
      return memory.take();
    }
    this.#memory = undefined;
    memory.dispose();
    return undefined;
  }

  /** Takes over a gathered tensor. Returns the one to fill variables from, for {@link keep}. */
  arrive(flat: Tensor): Tensor {
    const divide = this.#divide();
    if (this.#isLent || this.#isUpdating || !divide) return flat;
    const shards = this.#filled;
    const { memory, parts } = divide(flat, this.#ranges);
    parts.forEach((part, i) => {
      shards[i]!.place(part);
      part.dispose();
    });
    this.#memory = memory;
    return memory.take();
  }

  /** Keeps the memory of a tensor from {@link arrive}, unless it is for reads during an update. */
  keep(full: Tensor): void {
    this.#isLent = false;
    if (this.#memory && !this.#isUpdating) this.#memory.put(full);
    else full.dispose();
  }

  /**
   * Called before an optimizer changes this rank's elements, while the variables have no values. If
   * something else shows values of the buffer, such as a slice that a program keeps, the elements
   * get memory of their own.
   */
  beginUpdate(): void {
    this.#isUpdating = true;
    if (!this.#memory || this.#memory.isUnused) return;
    for (const shard of this.#filled) shard.detach();
    this.dispose();
  }

  endUpdate(): void {
    this.#isUpdating = false;
  }

  /**
   * Writes other values of a shard into the buffer. Called while the variables have no values.
   *
   * @returns False if the shard must get memory of its own.
   */
  write({ local, isPlaced }: Shard, values: Tensor): boolean {
    // An optimizer that gives elements new memory goes on to write to that.
    if (!isPlaced || this.#isUpdating || !this.#memory?.isUnused) return false;
    return this.#memory.write(local, values);
  }

  dispose(): void {
    this.#memory?.dispose();
    this.#memory = undefined;
  }
}

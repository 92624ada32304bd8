interface Slot<Block> {
  readonly promise: Promise<Block>;
  /** Set when the promise is fulfilled. */
  loaded?: { readonly block: Block };
}

/** Keeps the blocks that were used last. */
export class BlockCache<Block> {
  readonly #slots = new Map<number, Slot<Block>>();
  readonly #load: (block: number) => Promise<Block>;
  #capacity: number;

  constructor(load: (block: number) => Promise<Block>, capacity: number) {
    this.#load = load;
    this.#capacity = capacity;
  }

  /** The largest number of blocks that are kept. */
  get capacity(): number {
    return this.#capacity;
  }

  /** Keeps at least so many blocks. */
  reserve(blocks: number): void {
    this.#capacity = Math.max(this.#capacity, blocks);
  }

  /** The block if it is loaded, else a promise of it. A failed load is tried again by the next call. */
  get(block: number): { readonly block: Block } | Promise<Block> {
    const slot = this.#slots.get(block) ?? this.#begin(block);
    // The map keeps the order in which keys were added: the block that was used last is the last one.
    this.#slots.delete(block);
    this.#slots.set(block, slot);
    if (this.#slots.size > this.#capacity) this.#slots.delete(this.#slots.keys().next().value!);
    return slot.loaded ?? slot.promise;
  }

  #begin(block: number): Slot<Block> {
    const slot: Slot<Block> = { promise: this.#load(block) };
    slot.promise.then(
      (loaded) => (slot.loaded = { block: loaded }),
      () => {
        if (this.#slots.get(block) === slot) this.#slots.delete(block);
      },
    );
    return slot;
  }
}

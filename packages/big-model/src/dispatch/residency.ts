/** Values that take memory. */
export interface Resident {
  readonly bytes: number;
  /** The number of operators that use them now. */
  readonly uses: number;
  /** Frees the memory. */
  release(): void;
}

/**
 * The offloaded weights of a model that are in memory. When one more is needed, those that were used
 * least recently leave.
 */
export class Residency {
  /** The least recently used one comes first. */
  readonly #inMemory = new Set<Resident>();
  #bytes = 0;

  /** @param roomBytes The most bytes of weights at a time. An operator that uses more gets more. */
  constructor(private readonly roomBytes: number) {}

  /**
   * The weight is about to be read into memory.
   *
   * @param mayFree Whether others may leave for it.
   */
  enter(weight: Resident, mayFree: boolean): void {
    for (const other of mayFree ? this.#inMemory : []) {
      if (this.#bytes + weight.bytes <= this.roomBytes) break;
      if (other.uses === 0) this.leave(other);
    }
    this.#inMemory.add(weight);
    this.#bytes += weight.bytes;
  }

  /** An operator uses the weight. */
  touch(weight: Resident): void {
    if (this.#inMemory.delete(weight)) this.#inMemory.add(weight);
  }

  /** Frees the memory of the weight, if it has any. */
  leave(weight: Resident): void {
    if (this.forget(weight)) weight.release();
  }

  /** The memory of the weight belongs to others now. Returns whether it had any. */
  forget(weight: Resident): boolean {
    const wasInMemory = this.#inMemory.delete(weight);
    if (wasInMemory) this.#bytes -= weight.bytes;
    return wasInMemory;
  }
}

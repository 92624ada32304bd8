/** The state of a rank, in the memory that all ranks of a run share. */
const State = {
  runs: 0,
  /** A message has come, or a rank has ended, since the rank last looked. */
  hasNews: 1,
  waits: 2,
  ended: 3,
  failed: 4,
} as const;

/** Positions of numbers before the states of the ranks. */
const Slot = { lock: 0, isDeadlock: 1, failures: 2, states: 3 } as const;

/** The longest note of a rank, in bytes. */
const NOTE_BYTES = 4_096;

/** How a rank ended. `order` counts from 0 the ranks that failed. */
export interface Failure {
  readonly order: number;
}

/**
 * The states of the ranks of one run, in memory that all threads share. A rank that waits is woken by
 * messages and by ends of other ranks. If all ranks wait, nobody can wake them, which they learn.
 */
export class SharedState {
  readonly #numbers: Int32Array;
  readonly #notes: Uint8Array;

  /** Memory for a run. */
  static memoryFor(ranks: number): SharedArrayBuffer {
    return new SharedArrayBuffer(4 * (Slot.states + 2 * ranks) + NOTE_BYTES * ranks);
  }

  constructor(
    memory: SharedArrayBuffer,
    readonly size: number,
  ) {
    const numbers = Slot.states + 2 * size;
    this.#numbers = new Int32Array(memory, 0, numbers);
    this.#notes = new Uint8Array(memory, 4 * numbers);
  }

  /** Tells a rank that something has come for it. */
  wake(rank: number): void {
    this.#locked(() => this.#tell(rank));
  }

  /**
   * Blocks until something has come for `rank` since its last call.
   *
   * @param note What the rank waits for, for {@link noteOf}.
   * @returns False if all ranks wait.
   */
  waitForNews(rank: number, note: string): boolean {
    const at = Slot.states + rank;
    const mustSleep = this.#locked(() => {
      if (this.#numbers[at] === State.hasNews) return false;
      this.#write(rank, note);
      this.#numbers[at] = State.waits;
      if (!this.#doAllWait()) return true;
      this.#numbers[Slot.isDeadlock] = 1;
      for (let one = 0; one < this.size; one++) this.#tell(one);
      return false;
    });
    if (mustSleep) Atomics.wait(this.#numbers, at, State.waits);
    return this.#locked(() => {
      this.#numbers[at] = State.runs;
      const isDeadlock = this.#numbers[Slot.isDeadlock] === 1;
      if (!isDeadlock) this.#write(rank, '');
      return !isDeadlock;
    });
  }

  hasEnded(rank: number): boolean {
    return this.#locked(() => this.#numbers[Slot.states + rank]! >= State.ended);
  }

  /**
   * The note of a rank: the call that it waits for, or the reason why it has failed. Empty if it
   * has not said so.
   */
  noteOf(rank: number): string {
    return this.#locked(() => {
      const length = this.#numbers[this.#lengthAt(rank)]!;
      const start = rank * NOTE_BYTES;
      return new TextDecoder().decode(this.#notes.slice(start, start + length));
    });
  }

  /** Ends a rank, which wakes all others. */
  end(rank: number): void {
    this.#locked(() => this.#end(rank, State.ended));
  }

  /**
   * Ends a rank that failed, unless it has ended.
   *
   * @param reason For {@link noteOf}.
   */
  fail(rank: number, reason: string): Failure {
    return this.#locked(() => {
      this.#write(rank, reason);
      this.#end(rank, State.failed);
      const order = this.#numbers[Slot.failures]!;
      this.#numbers[Slot.failures] = order + 1;
      return { order };
    });
  }

  #end(rank: number, state: number): void {
    this.#numbers[Slot.states + rank] = state;
    for (let one = 0; one < this.size; one++) this.#tell(one);
  }

  #tell(rank: number): void {
    const at = Slot.states + rank;
    if (this.#numbers[at]! >= State.ended) return;
    this.#numbers[at] = State.hasNews;
    Atomics.notify(this.#numbers, at);
  }

  #doAllWait(): boolean {
    return this.#numbers
      .subarray(Slot.states, Slot.states + this.size)
      .every((state) => state >= State.waits);
  }

  #lengthAt(rank: number): number {
    return Slot.states + this.size + rank;
  }

  #write(rank: number, note: string): void {
    const bytes = new TextEncoder().encode(note).subarray(0, NOTE_BYTES);
    this.#notes.set(bytes, rank * NOTE_BYTES);
    this.#numbers[this.#lengthAt(rank)] = bytes.length;
  }

  #locked<T>(body: () => T): T {
    while (Atomics.compareExchange(this.#numbers, Slot.lock, 0, 1) !== 0) {
      Atomics.wait(this.#numbers, Slot.lock, 1);
    }
    try {
      return body();
    } finally {
      Atomics.store(this.#numbers, Slot.lock, 0);
      Atomics.notify(this.#numbers, Slot.lock, 1);
    }
  }
}

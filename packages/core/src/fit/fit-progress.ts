/** How far a `fit` or `fitDataset` has come: plain values, the same on every rank. */
export interface FitPosition {
  readonly epoch: number;
  /** What all ranks together have trained on in this epoch: rows of `fit`, batches of a rank in `fitDataset`. */
  readonly position: number;
}

/** Where the `fit` that runs is, and where the next one goes on in a program that goes on. */
export class FitProgress {
  #position: FitPosition | undefined;
  #resumed: FitPosition | undefined;

  /** Undefined outside of `fit`. */
  get position(): FitPosition | undefined {
    return this.#position ?? this.#resumed;
  }

  /** The next `fit` goes on from there; undefined: none was under way. */
  goOnFrom(position: FitPosition | undefined): void {
    this.#resumed = position;
  }

  /** Where a `fit` that was to begin with `initialEpoch` begins. */
  begin(initialEpoch: number): FitPosition {
    const resumed = this.#resumed;
    this.#resumed = undefined;
    // A program that counts for itself may have asked for a later epoch.
    const goesOn = resumed && resumed.epoch >= initialEpoch;
    return (this.#position = goesOn ? resumed : { epoch: initialEpoch, position: 0 });
  }

  /** Gives what puts it back to where it is now, whatever fit runs in between. */
  keep(): () => void {
    const [position, resumed] = [this.#position, this.#resumed];
    return () => {
      this.#position = position;
      // Outside of a fit, the one that ran has gone on from it.
      if (position) this.#resumed = resumed;
    };
  }

  advance(position: FitPosition): void {
    this.#position = position;
  }

  end(): void {
    this.#position = undefined;
  }
}

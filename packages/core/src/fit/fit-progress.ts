/** The position of a `fit` or `fitDataset`: plain values, the same on every rank. */
export interface FitPosition {
  readonly epoch: number;
  /**
   * How much of this epoch all ranks together have been trained on: rows in `fit`, batches of one
   * rank in `fitDataset`.
   */
  readonly position: number;
}

/** The position of the running `fit`, and the position at which the next one resumes. */
export class FitProgress {
  #position: FitPosition | undefined;
  #resumed: FitPosition | undefined;

  /** Undefined outside `fit`. */
  get position(): FitPosition | undefined {
    return this.#position ?? this.#resumed;
  }

  /** Makes the next `fit` resume at a position. Undefined: no `fit` was running. */
  goOnFrom(position: FitPosition | undefined): void {
    this.#resumed = position;
  }

  /** The position at which a `fit` with this `initialEpoch` begins. */
  begin(initialEpoch: number): FitPosition {
    const resumed = this.#resumed;
    this.#resumed = undefined;
    // A program that counts epochs itself may have asked for a later epoch.
    const goesOn = resumed && resumed.epoch >= initialEpoch;
    return (this.#position = goesOn ? resumed : { epoch: initialEpoch, position: 0 });
  }

  /** Returns a function that restores the current position after another fit has run. */
  keep(): () => void {
    const [position, resumed] = [this.#position, this.#resumed];
    return () => {
      this.#position = position;
      // Outside a fit, the other fit has consumed the resumed position.
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

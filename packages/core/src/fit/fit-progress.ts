import type { ModelInternals } from '@acc/tfjs-internals';
import { FitCallbacks } from './fit-callbacks.js';

/** The position of a `fit` or `fitDataset`: plain values, the same on every rank. */
export interface FitPosition {
  readonly epoch: number;
  /**
   * How much of this epoch all ranks together have been trained on: rows in `fit`, batches of one
   * rank in `fitDataset`.
   */
  readonly position: number;
  /** The number of epochs of a training that a callback has stopped before. */
  readonly stoppedOf?: number;
}

/** The model that is trained, and the number of epochs. */
interface Training {
  readonly model: Pick<ModelInternals, 'stopTraining_'>;
  readonly epochs: number;
}

/** The position of the running `fit`, and the position at which the next one resumes. */
export class FitProgress {
  readonly callbacks = new FitCallbacks();
  #position: FitPosition | undefined;
  #resumed: FitPosition | undefined;
  #training: Training | undefined;

  /** Undefined outside `fit`. */
  get position(): FitPosition | undefined {
    const position = this.#position;
    if (!position) return this.#resumed;
    const { model, epochs } = this.#training!;
    return model.stopTraining_ && position.epoch < epochs ? { ...position, stoppedOf: epochs } : position;
  }

  /** Makes the next `fit` resume at a position. Undefined: no `fit` was running. */
  goOnFrom(position: FitPosition | undefined): void {
    this.#resumed = position;
  }

  /** The position at which a `fit` with this `initialEpoch` begins. */
  begin(initialEpoch: number, training: Training): FitPosition {
    const resumed = this.#resumed;
    this.#resumed = undefined;
    this.#training = training;
    // Left from an earlier fit. tfjs-layers sets it only after onTrainBegin.
    training.model.stopTraining_ = false;
    // A program that counts epochs itself may have asked for a later epoch.
    const goesOn = resumed && resumed.epoch >= initialEpoch;
    const { epoch, position = 0 } = goesOn ? resumed : { epoch: initialEpoch };
    const isStopped = goesOn && resumed.stoppedOf === training.epochs;
    return (this.#position = isStopped ? { epoch: training.epochs, position: 0 } : { epoch, position });
  }

  /** Returns a function that restores the current position after another fit has run. */
  keep(): () => void {
    const [position, resumed, training] = [this.#position, this.#resumed, this.#training];
    return () => {
      this.#position = position;
      this.#training = training;
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

import type { UpdatePiece } from '@acc/kernels';
import type { StoredVariable } from './stored-variable.js';
import type { Fetch, VariableStore } from './variable-store.js';

/** Variables that are updated together, and what must be in memory for that. */
export interface StoredPiece {
  readonly names: ReadonlySet<string>;
  readonly stored: readonly StoredVariable[];
}

/**
 * Reads each piece while the one before is updated, and writes it while those after it are. So a
 * few pieces are in memory at a time (Rajbhandari et al., "ZeRO-Infinity: Breaking the GPU Memory
 * Wall for Extreme Scale Deep Learning", SC 2021).
 */
export class UpdatePipeline {
  readonly pieces: readonly UpdatePiece[];
  readonly #started: (Fetch | undefined)[] = [];

  constructor(
    private readonly stored: readonly StoredPiece[],
    private readonly store: VariableStore,
  ) {
    this.pieces = stored.map(({ names }, i) => ({
      names,
      enter: () => this.#enter(i),
      leave: () => store.write(stored[i]!.stored),
    }));
  }

  /** Writes what an optimizer has updated without the calls of a piece. */
  finish(): void {
    this.store.releaseRead();
    for (const { stored } of this.stored) this.store.write(stored);
  }

  /** Gives up values that were read for nothing, after an error. */
  drop(): void {
    for (const fetch of this.#started) fetch?.drop();
  }

  #enter(i: number): void {
    const fetch = this.#start(i)!;
    this.#start(i + 1);
    this.#started[i] = undefined;
    for (const { stored, values } of fetch.wait()) {
      stored.bring(values);
      values.dispose();
    }
  }

  #start(i: number): Fetch | undefined {
    const piece = this.stored[i];
    return piece && (this.#started[i] ??= this.store.startRead(piece.stored));
  }
}

import type { Tensor } from '@tensorflow/tfjs-core';
import type { AttentionSettings } from '@acc/contract';

/** How ranks that have pieces of the same sequences compute attention together. */
export interface DividedSequences {
  /** The number of this rank's piece, from 0. Pieces have equal lengths. */
  readonly index: number;
  /** The number of pieces. */
  readonly size: number;
  /**
   * Attention of the queries of this rank's piece to the keys of all pieces, on the tape. Called on
   * every rank, with q, k and v of its piece.
   */
  attend(q: Tensor, k: Tensor, v: Tensor, settings: AttentionSettings): Tensor;
}

let current: DividedSequences | undefined;

/** How sequences are divided now. Undefined if each rank has whole ones. */
export function dividedSequences(): DividedSequences | undefined {
  return current;
}

/**
 * Makes `scaledDotProductAttention` and the position of layers take sequences as pieces. Returns a
 * function that ends it.
 */
export function divideSequences(how: DividedSequences): () => void {
  current = how;
  return () => {
    if (current === how) current = undefined;
  };
}

/** Runs `fn`, which is synchronous, on whole sequences: this rank needs no other for attention. */
export function onWholeSequences<T>(fn: () => T): T {
  const before = current;
  current = undefined;
  try {
    return fn();
  } finally {
    current = before;
  }
}

/** The position of the first row of this rank's piece, which has `length` rows. 0 for whole sequences. */
export function sequenceOffset(length: number): number {
  return current ? current.index * length : 0;
}

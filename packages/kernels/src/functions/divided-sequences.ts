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
  readonly attend: Attend;
}

/** Attention to whole sequences or to pieces of them, on the tape. */
export type Attend = (q: Tensor, k: Tensor, v: Tensor, settings: AttentionSettings) => Tensor;

/** Attention of all heads, of which each rank runs `attend` on its own. */
export type AttendOwnHeads = (attend: Attend) => Attend;

let current: DividedSequences | undefined;
let ownHeads: AttendOwnHeads | undefined;

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

/**
 * Makes attention to pieces of sequences compute some heads on each rank. Returns a function that
 * ends it. Kernels that attend to whole sequences need no such help.
 */
export function divideHeads(attendOwn: AttendOwnHeads): () => void {
  ownHeads = attendOwn;
  return () => {
    if (ownHeads === attendOwn) ownHeads = undefined;
  };
}

/** How ranks attend to pieces of sequences now. Undefined if each rank has whole ones. */
export function attentionToPieces(): Attend | undefined {
  const attend = current?.attend;
  return attend && ownHeads ? ownHeads(attend) : attend;
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

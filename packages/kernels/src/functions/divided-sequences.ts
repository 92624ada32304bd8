import type { Tensor } from '@tensorflow/tfjs-core';
import type { AttentionSettings } from '@acc/contract';

/** How ranks that have shards of the same sequences compute attention together. */
export interface DividedSequences {
  /** The number of this rank's shard, from 0. Shards have equal lengths. */
  readonly index: number;
  /** The number of shards. */
  readonly size: number;
  /**
   * Attention of the queries of this rank's shard to the keys of all shards, on the tape. Called on
   * every rank, with q, k and v of its shard.
   */
  readonly attend: Attend;
}

/** Attention to whole sequences or to shards of them, on the tape. */
export type Attend = (q: Tensor, k: Tensor, v: Tensor, settings: AttentionSettings) => Tensor;

/** Attention of all heads, of which each rank runs `attend` on its own. */
export type AttendLocalHeads = (attend: Attend) => Attend;

let current: DividedSequences | undefined;
let localHeads: AttendLocalHeads | undefined;

/** How sequences are divided now. Undefined if each rank has whole ones. */
export function dividedSequences(): DividedSequences | undefined {
  return current;
}

/**
 * Makes `scaledDotProductAttention` and the position of layers take sequences as shards. Returns a
 * function that ends it.
 */
export function divideSequences(how: DividedSequences): () => void {
  current = how;
  return () => {
    if (current === how) current = undefined;
  };
}

/**
 * Makes attention to shards of sequences compute some heads on each rank. Returns a function that
 * ends it. Kernels that attend to whole sequences need no such help.
 */
export function divideHeads(attendOwn: AttendLocalHeads): () => void {
  localHeads = attendOwn;
  return () => {
    if (localHeads === attendOwn) localHeads = undefined;
  };
}

/** How ranks attend to shards of sequences now. Undefined if each rank has whole ones. */
export function attentionToShards(): Attend | undefined {
  const attend = current?.attend;
  return attend && localHeads ? localHeads(attend) : attend;
}

/** Runs `fn`, which is synchronous, on whole sequences: this rank needs no other for attention. */
export function onFullSequences<T>(fn: () => T): T {
  const before = current;
  current = undefined;
  try {
    return fn();
  } finally {
    current = before;
  }
}

/** The position of the first row of this rank's shard, which has `length` rows. 0 for whole sequences. */
export function sequenceOffset(length: number): number {
  return current ? current.index * length : 0;
}

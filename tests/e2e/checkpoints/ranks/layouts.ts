// The layouts in which the ranks of these tests hold the same whole tensors.
import * as tf from '@tensorflow/tfjs';
import { rangeOf, sliceOf, type Shard, type Whole } from './sharding.js';

export const WHOLES = [
  { name: 'a', shape: [3, 4] },
  { name: 'b', shape: [5] },
  { name: 'c', shape: [2, 6] },
  { name: 'rows', shape: [7, 5] },
  { name: 'columns', shape: [3, 6] },
  { name: 'few', shape: [3, 2] },
  { name: 'everywhere', shape: [3] },
] as const satisfies readonly Whole[];

const [A, B, C, ROWS, COLUMNS, FEW, EVERYWHERE] = WHOLES;

export const LAYOUTS = {
  /** Every rank holds every tensor. */
  replicated: () => WHOLES.map(wholeOf),
  /**
   * Ranks hold rows, columns, and a range of a flat buffer of several tensors. One tensor is on
   * every rank.
   */
  sharded: (rank: number, size: number) => [
    sliceOf(ROWS, 0, rank, size),
    sliceOf(FEW, 0, rank, size),
    sliceOf(COLUMNS, 1, rank, size),
    rangeOf('flat', [A, B, C], rank, size),
    wholeOf(EVERYWHERE),
  ],
  /** Each rank holds a flat buffer of all tensors, cut anywhere. */
  flat: (rank: number, size: number) => [rangeOf('unit', WHOLES, rank, size)],
  /**
   * The tensors of a rank differ from those of its neighbours, except for one that is on every
   * rank.
   */
  stages: (rank: number, size: number) => [
    ...WHOLES.slice(0, -1)
      .filter((_, i) => Math.floor((i * size) / (WHOLES.length - 1)) === rank)
      .map(wholeOf),
    wholeOf(EVERYWHERE),
  ],
};

export type Layout = keyof typeof LAYOUTS;

function wholeOf({ name, shape }: Whole): Shard {
  const variable = tf.variable(tf.zeros([...shape]), true, name);
  return { variable, boxes: [{ name, shape, offset: shape.map(() => 0), sizes: shape, start: 0 }] };
}

/** Whether a rank holds a shard of a tensor, or of several. */
export function isSharded({ variable, boxes: [box] }: Shard): boolean {
  return variable.shape.join() !== box?.shape.join();
}

import { slice, type Tensor } from '@tensorflow/tfjs-core';
import type { Step } from './batch-counts.js';
import { unevenSequence } from './errors.js';
import { mapTensors, tensorsIn } from './structure.js';

/** The part of every sequence that a rank gets. */
export interface SequenceShard {
  /** From 0. */
  readonly index: number;
  /** The number of shards of a sequence. */
  readonly size: number;
}

/**
 * One shard of dim 1 of a tensor. Tensors of rank 0 and 1 have no sequence, so that they are cloned.
 * The caller disposes the result.
 *
 * @throws AccError `ACC_DATA_SEQUENCE` if dim 1 does not divide into shards of equal length.
 */
export function shardOf(x: Tensor, { index, size }: SequenceShard): Tensor {
  if (x.rank < 2) return x.clone();
  const full = x.shape[1]!;
  if (full % size !== 0) throw unevenSequence(x.shape, size);
  const length = full / size;
  const begin = x.shape.map((_, dim) => (dim === 1 ? index * length : 0));
  return slice(
    x,
    begin,
    x.shape.map((all, dim) => (dim === 1 ? length : all)),
  );
}

/** Replaces the tensors of each batch by this rank's shard of them, and disposes the rest. */
export async function* cutSequences<T>(
  steps: AsyncGenerator<Step<T>>,
  shard: SequenceShard,
): AsyncGenerator<Step<T>> {
  for await (const step of steps) {
    const created: Tensor[] = [];
    const take = (x: Tensor) => {
      created.push(shardOf(x, shard));
      return created.at(-1)!;
    };
    let batch: T;
    try {
      batch = mapTensors(step.batch, take);
    } catch (error) {
      for (const x of created) x.dispose();
      throw error;
    } finally {
      for (const x of new Set(tensorsIn(step.batch))) x.dispose();
    }
    yield { ...step, batch };
  }
}

import * as tf from '@tensorflow/tfjs';
import { expect } from 'vitest';
import type { BatchCounts, OnBatch } from '../batch-counts.js';
import type { ShardOptions } from '../options.js';
import { disposeTensors, mapTensors } from '../structure.js';

/** Replaces tensors by nested arrays. */
export function plain(batch: unknown): unknown {
  return mapTensors(batch, (tensor) => tensor.arraySync() as never);
}

/** Reads to the end and disposes each batch, as a training loop does. */
export async function collect(batches: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const batch of batches) {
    all.push(plain(batch));
    disposeTensors(batch);
  }
  return all;
}

/** The batches that one rank received in an epoch. */
export interface RankEpoch {
  readonly batches: unknown[];
  readonly counts: BatchCounts[];
  /** How many times the end was reported. */
  readonly ends: number;
}

/** Runs one epoch on each of `size` ranks, as if each were its own process. */
export async function collectRanks(
  size: number,
  part: (options: ShardOptions) => AsyncIterable<unknown>,
  options: Partial<ShardOptions> = {},
): Promise<RankEpoch[]> {
  const epochs: RankEpoch[] = [];
  for (let rank = 0; rank < size; rank++) {
    const told: (BatchCounts | undefined)[] = [];
    const onBatch: OnBatch = (counts) => told.push(counts);
    const batches = await collect(part({ ...options, rank, size, onBatch }));
    const counts = told.filter((count) => count !== undefined);
    epochs.push({ batches, counts, ends: told.length - counts.length });
  }
  return epochs;
}

/** Fails if `fn` leaves tensors alive. */
export async function expectNoTensorsLeft(fn: () => unknown): Promise<void> {
  const { numTensors, numDataBuffers } = tf.memory();
  await fn();
  expect(tf.memory()).toMatchObject({ numTensors, numDataBuffers });
}

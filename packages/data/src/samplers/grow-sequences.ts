import { slice, type Tensor } from '@tensorflow/tfjs-core';
import { isPlainRecord, parseOptions } from '@acc/contract';
import { samplerError } from '@acc/formats';
import * as z from 'zod';
import { mapTensors } from '../structure.js';
import { stepsShape, type DifficultySchedule } from './difficulty-schedule.js';

/** Sequences whose length depends on the step. */
export interface GrowSequencesOptions {
  /** The length of each step: `difficultySchedule(…)`, or any function. */
  readonly schedule: DifficultySchedule;
  /**
   * The number of samples of one optimizer step: those of all ranks and micro-batches. Steps are
   * counted by samples, over all epochs.
   */
  readonly samplesPerStep: number;
  /** The keys of a batch that hold sequences `[rows, length, …]`. Default: all tensors. */
  readonly keys?: readonly string[];
}

const schema = z.object({
  ...stepsShape,
  keys: z.array(z.string()).min(1).readonly().optional(),
});

/**
 * Cuts the sequences of each batch along dim 1, to a length that grows with the steps (DeepSpeed's
 * curriculum by sequence length). A sequence that is shorter stays as it is.
 *
 * @returns A function for the option `transform` of a DataLoader.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. The function throws
 * `ACC_DATA_SAMPLER`.
 */
export function growSequences(options: GrowSequencesOptions): <B>(batch: B, samplesBefore: number) => B {
  const { schedule, samplesPerStep, keys } = parseOptions('growSequences', schema, options);
  return (batch, samplesBefore) => {
    const step = Math.floor(samplesBefore / samplesPerStep);
    return cutBatch(batch, checkLength(schedule(step), step), keys) as typeof batch;
  };
}

function checkLength(length: number, step: number): number {
  if (Number.isSafeInteger(length) && length >= 1) return length;
  throw samplerError(
    `growSequences: the length of step ${step} is ${length}`,
    'The schedule must return an integer from 1.',
    { step, length },
  );
}

function cutBatch(batch: unknown, length: number, keys: readonly string[] | undefined): unknown {
  if (!keys) return mapTensors(batch, (x) => cutTensor(x, length));
  const missing = keys.find((key) => !isPlainRecord(batch) || !Object.hasOwn(batch, key));
  if (missing !== undefined) {
    throw samplerError(
      `growSequences: the batch has no key '${missing}'`,
      'Name keys of the batch, or leave keys out to cut all tensors.',
      { key: missing },
    );
  }
  const record = batch as Record<string, unknown>;
  const cut = keys.map((key) => [key, mapTensors(record[key], (x) => cutTensor(x, length))] as const);
  return { ...record, ...Object.fromEntries(cut) };
}

function cutTensor(x: Tensor, length: number): Tensor {
  const [rows, own] = x.shape;
  if (rows === undefined || own === undefined) {
    throw samplerError(
      `growSequences: a tensor of shape [${x.shape.join(', ')}] is no batch of sequences`,
      'Sequences have the shape [rows, length, …]. Name their keys in the option keys.',
      { shape: x.shape },
    );
  }
  return own <= length ? x : slice(x, [0, 0], [rows, length]);
}

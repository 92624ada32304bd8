import { tensor, type Tensor, type TensorContainer } from '@tensorflow/tfjs-core';
import { isPlainRecord, parseOptions } from '@acc/contract';
import type { NumberArray } from '@acc/formats';
import * as z from 'zod';
import { collate } from './collate.js';
import { cannotCollate } from './errors.js';
import { isNumberArray, plainKind } from './plain-values.js';

export interface PadSequencesOptions {
  /** The value that fills each sequence, by the key of the sample: `{ tokens: 0, labels: -100 }`. */
  readonly pad: Readonly<Record<string, number>>;
  /** The length is rounded up to a multiple of this number. Default 1. */
  readonly multipleOf?: number;
  /**
   * The key under which the batch has the length of each sequence before padding, int32 `[rows]`.
   * Default: none.
   */
  readonly lengthKey?: string;
  /** The dtype of the sequences. Default `int32`. */
  readonly dtype?: 'int32' | 'float32';
}

const schema = z
  .object({
    pad: z.record(z.string(), z.number()).refine((keys) => Object.keys(keys).length > 0, 'at least one key'),
    multipleOf: z.int().positive().default(1),
    lengthKey: z.string().min(1).optional(),
    dtype: z.enum(['int32', 'float32']).default('int32'),
  })
  .refine(({ pad, dtype }) => dtype === 'float32' || Object.values(pad).every(Number.isInteger), {
    path: ['pad'],
    error: "integers, or dtype: 'float32'",
  })
  .refine(({ pad, lengthKey }) => lengthKey === undefined || !(lengthKey in pad), {
    path: ['lengthKey'],
    error: 'another key than those of pad',
  });

/**
 * A collate function for records with sequences of different lengths. The sequences of the keys in
 * `pad` become tensors `[rows, longest]`; all keys have the same length in one sample. Other keys
 * are batched as by default.
 *
 * @returns A function for the option `collate` of a DataLoader.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. The function throws
 * `ACC_DATA_COLLATE`.
 */
export function padSequences(
  options: PadSequencesOptions,
): (samples: readonly Record<string, unknown>[]) => Record<string, Tensor> {
  const { pad, multipleOf, lengthKey, dtype } = parseOptions('padSequences', schema, options);
  const padded = Object.keys(pad);
  return (samples) => {
    const lengths = samples.map((sample) => lengthOf(sample, padded, dtype));
    if (lengthKey !== undefined && lengthKey in samples[0]!)
      throw cannotCollate(
        `sample.${lengthKey}`,
        'lengthKey of padSequences would replace this part of the sample',
      );
    const width = Math.ceil(Math.max(1, ...lengths) / multipleOf) * multipleOf;
    const others = samples.map((sample) =>
      Object.fromEntries(Object.entries(sample).filter(([key]) => !padded.includes(key))),
    );
    const batch = collate(others) as Record<string, TensorContainer>;
    for (const key of padded) {
      const values = new (dtype === 'int32' ? Int32Array : Float32Array)(samples.length * width);
      values.fill(pad[key]!);
      samples.forEach((sample, row) => values.set(sample[key] as ArrayLike<number>, row * width));
      batch[key] = tensor(values, [samples.length, width], dtype);
    }
    if (lengthKey !== undefined)
      batch[lengthKey] = tensor(Int32Array.from(lengths), [lengths.length], 'int32');
    return batch as Record<string, Tensor>;
  };
}

/** The common length of the sequences of a sample. */
function lengthOf(sample: unknown, keys: readonly string[], dtype: 'int32' | 'float32'): number {
  if (!isPlainRecord(sample)) throw cannotCollate('sample', 'padSequences needs samples that are records');
  const lengths = keys.map((key) => {
    const sequence = sample[key];
    if (!isNumberArray(sequence) && !Array.isArray(sequence))
      throw cannotCollate(`sample.${key}`, 'is no sequence of numbers');
    const wrong = indexOfWrong(sequence, dtype);
    if (wrong >= 0)
      throw cannotCollate(
        `sample.${key}[${wrong}]`,
        `${JSON.stringify(sequence[wrong])} is no ${dtype === 'int32' ? "integer; dtype: 'float32' takes other numbers" : 'number'}`,
      );
    return sequence.length;
  });
  if (lengths.every((length) => length === lengths[0])) return lengths[0]!;
  throw cannotCollate('sample', `the sequences ${keys.join(', ')} have the lengths ${lengths.join(', ')}`);
}

/** The first element that is no number of the dtype; -1 if there is none. */
function indexOfWrong(sequence: NumberArray | readonly unknown[], dtype: 'int32' | 'float32'): number {
  // A typed array has numbers only, and only integers unless it has floats.
  if (isNumberArray(sequence) && (dtype === 'float32' || plainKind(sequence)!.dtype === 'int32')) return -1;
  const isRight = dtype === 'int32' ? Number.isInteger : (value: unknown) => typeof value === 'number';
  return Array.prototype.findIndex.call(sequence, (value) => !isRight(value));
}

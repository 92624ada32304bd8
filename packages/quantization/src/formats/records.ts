import type { NativeDtype } from '@acc/contract';
import type { Granularity } from '@acc/kernels';
import { operator, type Tensor } from '@acc/native';

const cat = operator('aten::cat');
const clone = operator('aten::clone');
const contiguous = operator('aten::contiguous');
const narrow = operator('aten::narrow');
const pad = operator('aten::constant_pad_nd');
const viewAs = operator('aten::view.dtype');

const WORD_BYTES = 4;

/** A part of each record: `length` values of a dtype. */
export interface RecordPart {
  readonly dtype: NativeDtype;
  readonly length: number;
}

const BYTES: Partial<Readonly<Record<NativeDtype, number>>> = {
  uint8: 1,
  int8: 1,
  float16: 2,
  bfloat16: 2,
  float32: 4,
};

const bytesOf = ({ dtype, length }: RecordPart): number => BYTES[dtype]! * length;

/** Groups of consecutive values of a row. */
export type Groups = Exclude<Granularity, string>;

/** The values of a record: a group, or a row. */
export const recordLength = (granularity: Granularity, columns: number): number =>
  typeof granularity === 'object' ? granularity.group : columns;

/** The int32 words of a record. The last one may have bytes that are 0. */
export function wordsOf(parts: readonly RecordPart[]): number {
  return Math.ceil(parts.reduce((sum, part) => sum + bytesOf(part), 0) / WORD_BYTES);
}

/**
 * Records int32 `[records, words]`.
 *
 * @param parts Each `[records, length]`, contiguous. Borrowed.
 */
export function joinRecords(parts: readonly Tensor[]): Tensor {
  const views = parts.map((part) => viewAs(part, 'uint8'));
  try {
    using bytes = cat(views, 1);
    const missing = -bytes.shape[1]! & (WORD_BYTES - 1);
    using padded = missing === 0 ? bytes.alias() : pad(bytes, [0, missing], 0);
    return viewAs(padded, 'int32');
  } finally {
    for (const view of views) view.dispose();
  }
}

/** The inverse of {@link joinRecords}. The caller disposes the results. */
export function splitRecords(records: Tensor, parts: readonly RecordPart[]): Tensor[] {
  using dense = contiguous(records);
  using bytes = viewAs(dense, 'uint8');
  let at = 0;
  return parts.map((part) => {
    const length = bytesOf(part);
    using columns = narrow(bytes, 1, at, length);
    at += length;
    // A part that is the whole record would be a view, which keeps the memory of the records.
    using own = clone(columns);
    return viewAs(own, part.dtype);
  });
}

import { sizeOf } from '@acc/formats';
import { combine, commonKind } from '../combine.js';
import { packInto, type PlainKind } from '../plain-values.js';

/** A tensor of a batch: elements in shared memory, or strings. */
export interface PackedLeaf {
  /** Distinguishes leaves from the records and arrays around them. */
  readonly isPackedLeaf: true;
  readonly dtype: PlainKind['dtype'];
  /** `[rows, …]` */
  readonly shape: readonly number[];
  /** The first byte of the elements. */
  readonly at: number;
  readonly strings?: readonly string[];
}

/** Samples that are combined, except for their bytes. */
export interface PackingPlan {
  /** The structure of a sample, with {@link PackedLeaf} in the place of values. */
  readonly structure: unknown;
  readonly bytes: number;
  /** Writes all elements. */
  write(memory: SharedArrayBuffer): void;
}

/** The alignment of each leaf in bytes. */
const ALIGNMENT = 64;

/** @throws AccError `ACC_DATA_COLLATE`. */
export function planPacking(samples: readonly unknown[]): PackingPlan {
  const writes: ((memory: SharedArrayBuffer) => void)[] = [];
  let bytes = 0;
  const leafOf = (path: string, parts: readonly unknown[]): PackedLeaf | undefined => {
    const kind = commonKind(path, parts);
    if (!kind) return undefined;
    const shape = [parts.length, ...kind.shape];
    const leaf = { isPackedLeaf: true, dtype: kind.dtype, shape, at: bytes } as const;
    if (kind.dtype === 'string') return { ...leaf, strings: parts.flat(kind.shape.length) as string[] };
    const elements = sizeOf(shape);
    writes.push((memory) => packInto(viewOf(memory, leaf, elements), parts, kind));
    bytes += Math.ceil((elements * (kind.dtype === 'bool' ? 1 : 4)) / ALIGNMENT) * ALIGNMENT;
    return leaf;
  };
  const structure = combine('sample', samples, leafOf);
  return { structure, bytes, write: (memory) => writes.forEach((write) => write(memory)) };
}

/** The elements of a leaf where they lie. */
export function viewOf(
  memory: SharedArrayBuffer,
  { dtype, at }: PackedLeaf,
  elements: number,
): Float32Array | Int32Array | Uint8Array {
  if (dtype === 'bool') return new Uint8Array(memory, at, elements);
  if (dtype === 'float32') return new Float32Array(memory, at, elements);
  return new Int32Array(memory, at, elements);
}

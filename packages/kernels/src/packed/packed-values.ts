import type { Tensor as NativeTensor } from '@acc/native';

/** The dtypes in which values are stored in place of float32. */
export type StorageDtype = 'bf16' | 'fp16' | 'int8' | 'int4' | 'nf4';

/** The values that share a scale: all, those of a row (an output channel), or consecutive ones of a row. */
export type Granularity = 'tensor' | 'row' | { readonly group: 32 | 64 | 128 };

/** The dim of a variable that has its output channels: a kernel's last, an embedding's first. */
export type ChannelAxis = 'first' | 'last';

/** The meaning of records. Records of equal formats and shapes have the same values. */
export interface StorageFormat {
  readonly dtype: StorageDtype;
  readonly granularity: Granularity;
  readonly axis: ChannelAxis;
}

/**
 * Packed values as records: an int32 tensor `[records, words]`. A record has the numbers of consecutive
 * values of an output channel, and then their scale, as bytes. So records can be divided over ranks,
 * sent and stored as they lie in memory.
 */
export interface PackedRecords {
  readonly format: StorageFormat;
  readonly shape: readonly [records: number, words: number];
  /** All records. The caller disposes them. */
  read(): NativeTensor;
  /** Takes other values. @param records In {@link shape}. The caller keeps them. */
  write(records: NativeTensor): void;
  /** Frees the values. From now on, `load` is called when they are needed: it writes all records. */
  defer(load: () => void): void;
  /** Frees the values, after {@link defer}. */
  release(): void;
  /** New packed values of the same format. @param records In {@link shape}. The caller keeps them. */
  like(records: NativeTensor): PackedValues;
}

/**
 * Float32 values that lie in memory as something smaller: whole numbers with scales, or 16-bit floats.
 * A tensor with them is frozen: no operator writes into it. Operators get float32 values, which are freed
 * when the operator ends; products and lookups may take what lies in memory.
 */
export interface PackedValues {
  /** The native tensors in memory. The data of the tensor owns them. The list changes with the values. */
  readonly tensors: readonly NativeTensor[];
  /** Of the variable. */
  readonly shape: readonly number[];
  readonly records: PackedRecords;
  /** Whether products round their input to int8. */
  readonly dynamic: boolean;
  /** The values as float32, in {@link shape}. The caller disposes them. */
  unpack(): NativeTensor;
  /**
   * `x` times the matrix of the values: x·W, or x·Wᵀ. Undefined if the product of {@link unpack} is to
   * be taken. The caller disposes it.
   *
   * @param x `[rows, k]`, float32 or 16-bit. The product has its dtype.
   */
  product?(x: NativeTensor, transpose: boolean): NativeTensor | undefined;
  /**
   * The slices of some indices along the first dim, as float32 `[indices, ...]`. Undefined if they are
   * to be taken from {@link unpack}. The caller disposes them.
   */
  rows?(indices: NativeTensor): NativeTensor | undefined;
}

/** A format as part of the name of a stored tensor: `nf4.group64.last`. */
export function formatName({ dtype, granularity, axis }: StorageFormat): string {
  const scales = typeof granularity === 'object' ? `group${granularity.group}` : granularity;
  return `${dtype}.${scales}.${axis}`;
}

/** The name under which records are stored: that of their variable, and their format. */
export const recordsName = (name: string, { format }: Pick<PackedRecords, 'format'>): string =>
  `${name}:${formatName(format)}`;

/** The format in the name of a stored tensor. Undefined: it has no records. */
export function formatIn(name: string): string | undefined {
  const [format] = /(?<=:)(bf16|fp16|int8|int4|nf4)\.(tensor|row|group\d+)\.(first|last)$/.exec(name) ?? [];
  return format;
}

/** The name of the variable in the name of a stored tensor. */
export function baseName(name: string): string {
  const format = formatIn(name);
  return format === undefined ? name : name.slice(0, -format.length - 1);
}

/** The bytes of all records. */
export const recordBytes = ({ shape: [records, words] }: Pick<PackedRecords, 'shape'>): number =>
  4 * records * words;

import { AccError, isRecord, parseJson } from '@acc/contract';
import {
  elementBytes,
  elementsOf,
  isCountable,
  isStoredDtype,
  STORED_DTYPES,
  type StoredDtype,
} from './dtypes.js';

/** A tensor to write. Tensors are stored in the order of the list. */
export interface Entry {
  readonly key: string;
  readonly dtype: StoredDtype;
  readonly shape: readonly number[];
}

/** A tensor in a file. */
export interface StoredEntry extends Entry {
  /** The offset of the first byte of its elements in the file. */
  readonly start: number;
  readonly byteLength: number;
}

export interface Header {
  readonly metadata: Readonly<Record<string, string>>;
  readonly entries: readonly StoredEntry[];
}

/** The size of the number that gives the length of the header. */
export const LENGTH_BYTES = 8;
/** The limit of the format's reference reader. */
export const MAX_HEADER_BYTES = 100_000_000;
/**
 * Headers are padded with spaces to a multiple of this number of bytes. The elements then begin
 * aligned, as those of tensors in memory do.
 */
export const ALIGNMENT = 64;

/**
 * The beginning of a safetensors file: the length of the header as a little-endian u64, then the
 * header as JSON. The elements follow without gaps, tensor by tensor, row-major and little-endian.
 */
export function encodeHeader(
  entries: readonly Entry[],
  metadata: Readonly<Record<string, string>>,
): { readonly bytes: Uint8Array; readonly entries: readonly StoredEntry[] } {
  let end = 0;
  const relative = entries.map((entry) => {
    const byteLength = elementsOf(entry.shape) * elementBytes(entry.dtype);
    const start = end;
    end += byteLength;
    return { ...entry, start, byteLength };
  });
  const tensors = relative.map(({ key, dtype, shape, start, byteLength }): [string, object] => [
    key,
    { dtype, shape, data_offsets: [start, start + byteLength] },
  ]);
  // Built from entries: an assignment by name would lose a tensor called `__proto__`.
  const json = Object.fromEntries([['__metadata__', metadata], ...tensors]);
  const text = new TextEncoder().encode(JSON.stringify(json));
  const length = Math.ceil((LENGTH_BYTES + text.length) / ALIGNMENT) * ALIGNMENT - LENGTH_BYTES;
  const bytes = new Uint8Array(LENGTH_BYTES + length).fill(0x20);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(length), true);
  bytes.set(text, LENGTH_BYTES);
  return {
    bytes,
    entries: relative.map((entry) => ({ ...entry, start: entry.start + bytes.length })),
  };
}

/**
 * The length of the header in bytes, from the first {@link LENGTH_BYTES} of a file.
 *
 * @throws AccError `ACC_SAFETENSORS_INVALID`.
 */
export function headerLength(bytes: Uint8Array, where: string): number {
  if (bytes.length < LENGTH_BYTES) throw invalid(where, 'it is too short to contain a header');
  const length = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true);
  if (length > BigInt(MAX_HEADER_BYTES))
    throw invalid(
      where,
      `the stated length of its header is ${length} bytes, which is above the limit of ${MAX_HEADER_BYTES}`,
    );
  return Number(length);
}

/**
 * @param text The bytes of the header, without the length before them.
 * @param fileBytes The size of the whole file in bytes. Undefined if it is not known.
 * @throws AccError `ACC_SAFETENSORS_INVALID`.
 */
export function parseHeader(text: Uint8Array, fileBytes: number | undefined, where: string): Header {
  const json = parseObject(text, where);
  const first = LENGTH_BYTES + text.length;
  const { __metadata__: metadata = {}, ...tensors } = json;
  if (!isRecord(metadata) || !Object.values(metadata).every((value) => typeof value === 'string')) {
    throw invalid(where, "its '__metadata__' is not an object of strings");
  }
  const entries = Object.entries(tensors).map(([key, value]) => parseEntry(key, value, first, where));
  entries.sort((a, b) => a.start - b.start || a.byteLength - b.byteLength);
  let end = first;
  for (const { key, start, byteLength } of entries) {
    if (start !== end)
      throw invalid(where, `the data of '${key}' does not begin where the data before it ends`);
    end += byteLength;
  }
  if (fileBytes !== undefined && end !== fileBytes) {
    throw invalid(where, `it has ${fileBytes} bytes, but its header describes ${end}`);
  }
  return { metadata: metadata as Record<string, string>, entries };
}

function parseObject(text: Uint8Array, where: string): Record<string, unknown> {
  try {
    const json = parseJson(new TextDecoder().decode(text));
    if (isRecord(json)) return json;
  } catch (cause) {
    throw invalid(where, 'its header is not JSON', cause);
  }
  throw invalid(where, 'its header is not a JSON object');
}

function parseEntry(key: string, value: unknown, first: number, where: string): StoredEntry {
  const { dtype, shape, data_offsets: offsets } = (value ?? {}) as Record<string, unknown>;
  const isKnown =
    typeof dtype === 'string' && areCounts(shape) && areCounts(offsets) && (offsets as number[]).length === 2;
  if (!isKnown) throw invalid(where, `the entry '${key}' of its header is not valid`);
  if (!isStoredDtype(dtype)) {
    throw new AccError(
      'ACC_DTYPE_UNSUPPORTED',
      `${where}: '${key}' has elements of type ${dtype}, which is not supported.`,
      {
        help: `Store it as one of ${STORED_DTYPES.join(', ')}.`,
        details: { key, dtype },
      },
    );
  }
  if (!isCountable(shape as number[], dtype)) {
    throw invalid(where, `the shape of '${key}' has too many elements`);
  }
  const [start, end] = offsets as unknown as [number, number];
  const byteLength = elementsOf(shape as number[]) * elementBytes(dtype);
  if (end - start !== byteLength) {
    throw invalid(
      where,
      `'${key}' needs ${byteLength} bytes for its shape, but its data_offsets span ${end - start} bytes`,
    );
  }
  return { key, dtype, shape: shape as number[], start: first + start, byteLength };
}

function areCounts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => Number.isSafeInteger(each) && (each as number) >= 0);
}

function invalid(where: string, problem: string, cause?: unknown): AccError {
  return new AccError('ACC_SAFETENSORS_INVALID', `${where} is not a valid safetensors file: ${problem}.`, {
    help: 'The file may be truncated or of another format. Compare its size with the original.',
    cause,
  });
}

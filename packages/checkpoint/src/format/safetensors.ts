import { AccError } from '@acc/contract';
import { elementBytes, elementsOf, isStoredDtype, type StoredDtype } from './dtypes.js';

/** A tensor to be written, in the order of the list that it is in. */
export interface Entry {
  readonly key: string;
  readonly dtype: StoredDtype;
  readonly shape: readonly number[];
}

/** A tensor in a file. */
export interface StoredEntry extends Entry {
  /** The first byte of its elements in the file. */
  readonly start: number;
  readonly byteLength: number;
}

export interface Header {
  readonly metadata: Readonly<Record<string, string>>;
  readonly entries: readonly StoredEntry[];
}

/** The number that says how long the header is. */
export const LENGTH_BYTES = 8;
/** What the format's own reader takes at most. */
export const MAX_HEADER_BYTES = 100_000_000;
/** Headers are filled up with spaces, so that elements begin at a multiple of it: as tensors in memory do. */
export const ALIGNMENT = 64;

/**
 * The beginning of a safetensors file: its length as a little-endian u64, then JSON. Elements follow without gaps, tensor
 * by tensor, row-major and little-endian.
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
  // As entries: assigned by name, a tensor called `__proto__` would be lost.
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

/** How long the header is, from the first {@link LENGTH_BYTES} of a file. @throws AccError `ACC_SAFETENSORS_INVALID`. */
export function headerLength(bytes: Uint8Array, where: string): number {
  if (bytes.length < LENGTH_BYTES) throw invalid(where, 'it is shorter than a header');
  const length = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true);
  if (length > BigInt(MAX_HEADER_BYTES)) throw invalid(where, `its header would have ${length} bytes`);
  return Number(length);
}

/**
 * @param text The header's bytes, without the length before them.
 * @param fileBytes Bytes of the whole file; undefined where nobody knows.
 * @throws AccError `ACC_SAFETENSORS_INVALID`.
 */
export function parseHeader(text: Uint8Array, fileBytes: number | undefined, where: string): Header {
  const json = parseObject(text, where);
  const first = LENGTH_BYTES + text.length;
  const { __metadata__: metadata = {}, ...tensors } = json;
  const entries = Object.entries(tensors).map(([key, value]) => parseEntry(key, value, first, where));
  entries.sort((a, b) => a.start - b.start || a.byteLength - b.byteLength);
  let end = first;
  for (const { key, start, byteLength } of entries) {
    if (start !== end) throw invalid(where, `the elements of '${key}' do not follow those before them`);
    end += byteLength;
  }
  if (fileBytes !== undefined && end !== fileBytes) {
    throw invalid(where, `it has ${fileBytes} bytes, its header speaks of ${end}`);
  }
  return { metadata: metadata as Record<string, string>, entries };
}

function parseObject(text: Uint8Array, where: string): Record<string, unknown> {
  try {
    const json = JSON.parse(new TextDecoder().decode(text)) as unknown;
    if (typeof json === 'object' && json !== null && !Array.isArray(json))
      return json as Record<string, unknown>;
  } catch (cause) {
    throw invalid(where, 'its header is no JSON', cause);
  }
  throw invalid(where, 'its header is no object');
}

function parseEntry(key: string, value: unknown, first: number, where: string): StoredEntry {
  const { dtype, shape, data_offsets: offsets } = (value ?? {}) as Record<string, unknown>;
  const isKnown =
    typeof dtype === 'string' && areCounts(shape) && areCounts(offsets) && (offsets as number[]).length === 2;
  if (!isKnown) throw invalid(where, `what it says of '${key}' is not of the format`);
  if (!isStoredDtype(dtype)) {
    throw new AccError('ACC_DTYPE_UNSUPPORTED', `${where}: '${key}' has elements of type ${dtype}.`, {
      details: { key, dtype },
    });
  }
  const [start, end] = offsets as unknown as [number, number];
  const byteLength = elementsOf(shape as number[]) * elementBytes(dtype);
  if (end - start !== byteLength) {
    throw invalid(where, `'${key}' takes ${byteLength} bytes by its shape, ${end - start} by its place`);
  }
  return { key, dtype, shape: shape as number[], start: first + start, byteLength };
}

function areCounts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => Number.isSafeInteger(each) && (each as number) >= 0);
}

function invalid(where: string, problem: string, cause?: unknown): AccError {
  return new AccError('ACC_SAFETENSORS_INVALID', `${where} is no safetensors file: ${problem}.`, {
    help: 'It may be of another kind, or cut off: compare its size with the original.',
    cause,
  });
}

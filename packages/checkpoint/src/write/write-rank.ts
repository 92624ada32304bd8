import { keep, clone, type Tensor } from '@tensorflow/tfjs-core';
import type { StateLayer, Storage, TensorBytes } from '@acc/contract';
import { checksumOf } from '../checksum.js';
import { ALIGNMENT, encodeHeader, type StoredEntry } from '../format/safetensors.js';
import { elementBytes } from '../format/dtypes.js';
import { hexOf, type RankRecord } from '../format/manifest.js';
import { keyOf, type WriteItem } from './items.js';

/** The chunk size in bytes for reading, writing and checksums. */
export const CHUNK_BYTES = 16 * 1024 * 1024;
/** Smaller items are collected into one write. */
const SMALL_BYTES = 64 * 1024;
const GATHERED_BYTES = 1024 * 1024;

/** An item, and a tensor that keeps its elements as they were when the save began. */
export interface SnapshotItem {
  readonly item: WriteItem;
  readonly tensor: Tensor | undefined;
}

/**
 * Keeps the current elements of items without a copy. If a tensor is later written in place while
 * another tensor shares its memory, the backend first copies it.
 */
export function snapshotItems(items: readonly WriteItem[]): SnapshotItem[] {
  // Items whose size is a multiple of the alignment come first, so that the items after them
  // begin aligned in the file.
  const isOdd = ({ byteLength }: WriteItem) => (byteLength % ALIGNMENT === 0 ? 0 : 1);
  const sorted = [...items].sort(
    (a, b) => isOdd(a) - isOdd(b) || elementBytes(b.dtype) - elementBytes(a.dtype),
  );
  return sorted.map((item) => ({ item, tensor: item.tensor && keep(clone(item.tensor)) }));
}

export function releaseItems(held: readonly SnapshotItem[]): void {
  for (const { tensor } of held) if (tensor && !tensor.isDisposed) tensor.dispose();
}

export interface ItemsFile {
  readonly storage: Storage;
  readonly key: string;
  /** The file's name in the returned record. */
  readonly name: string;
  /** Metadata for readers of the file. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** Writes items into one safetensors file. Each item is released after it is written. */
export async function writeItems(
  held: readonly SnapshotItem[],
  file: ItemsFile,
  layer?: StateLayer,
): Promise<Pick<RankRecord, 'file' | 'parts'>> {
  if (held.length === 0) return { file: undefined, parts: [] };
  const { bytes: header, entries } = encodeHeader(
    held.map(({ item }) => ({ key: keyOf(item), dtype: item.dtype, shape: item.sizes })),
    file.metadata,
  );
  const sums = held.map((): string[] => []);
  await file.storage.put(file.key, contentOf(header, held, sums, layer));
  const { start, byteLength } = entries.at(-1)!;
  return {
    file: { name: file.name, bytes: start + byteLength },
    parts: held.map(({ item }, i) => partOf(item, entries[i]!, file.name, sums[i]!)),
  };
}

export function partOf(item: WriteItem, { key, start }: StoredEntry, file: string, crc32: string[]) {
  const { name, dtype, shape, offset, sizes } = item;
  const lists = { shape: [...shape], offset: [...offset], sizes: [...sizes] };
  return { name, dtype, ...lists, file, key, start, crc32 };
}

/** Yields the content of the file. `sums` are filled while it is read. */
async function* contentOf(
  header: Uint8Array,
  held: readonly SnapshotItem[],
  sums: readonly string[][],
  layer: StateLayer | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  const gathered = new Gathered();
  yield* gathered.add(header);
  for (const [i, { item, tensor }] of held.entries()) {
    using opened = await item.open(tensor);
    if (opened.bytes.length <= SMALL_BYTES) {
      if (opened.bytes.length > 0) sums[i]!.push(hexOf(await checksumOf(opened.bytes)));
      yield* gathered.add(opened.bytes);
    } else {
      yield* gathered.flush();
      yield* checkedChunks(opened, sums[i]!, layer);
    }
    tensor?.dispose();
  }
  yield* gathered.flush();
}

/** Yields chunks. The checksum of a chunk is computed while it is written. */
async function* checkedChunks(
  { bytes }: TensorBytes,
  sums: string[],
  layer: StateLayer | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
    const chunk = bytes.subarray(start, start + CHUNK_BYTES);
    const sum = checksumOf(chunk, layer);
    try {
      yield chunk;
    } finally {
      // Awaited also if the write failed, because the checksum reads the memory until then.
      sums.push(hexOf(await sum));
    }
  }
}

/** Collects small items in one buffer. */
class Gathered {
  readonly #buffer = new Uint8Array(GATHERED_BYTES);
  #length = 0;

  *add(bytes: Uint8Array): Generator<Uint8Array, void, undefined> {
    if (this.#length + bytes.length > this.#buffer.length) yield* this.flush();
    if (bytes.length > this.#buffer.length) yield bytes;
    else {
      this.#buffer.set(bytes, this.#length);
      this.#length += bytes.length;
    }
  }

  *flush(): Generator<Uint8Array, void, undefined> {
    if (this.#length > 0) yield this.#buffer.subarray(0, this.#length);
    this.#length = 0;
  }
}

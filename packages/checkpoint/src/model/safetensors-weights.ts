import type { DataType, Tensor } from '@tensorflow/tfjs-core';
import { AccError, isAccError, isRecord, parseJson, type StateLayer, type Storage } from '@acc/contract';
import { labelOf } from '@acc/kernels';
import { sharedRuns, fullBox, type Box, type Run } from '../format/boxes.js';
import { elementBytes, nativeDtypeOf } from '../format/dtypes.js';
import { headerLength, LENGTH_BYTES, parseHeader, type StoredEntry } from '../format/safetensors.js';
import { describeLocation, type Location } from '../location.js';

/** A stored tensor that is read on demand. */
export interface StoredWeight {
  readonly name: string;
  readonly shape: readonly number[];
  /**
   * The tfjs dtype of what {@link read} gives.
   *
   * @throws AccError `ACC_DTYPE_UNSUPPORTED` for element types that tensors do not have here.
   */
  readonly dtype: DataType;
  /** The metadata in the header of its file, which other weights of the file share. Undefined for other files. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Reads a box of the tensor, by default all of it. The caller disposes the result. */
  read(layer: StateLayer, box?: Box): Promise<Tensor>;
  /** Frees data that was read for several weights together. Absent if there is no such data. */
  release?(): Promise<void>;
}

/** The most bytes that are read at once for a box whose elements are not contiguous. */
const SPAN_BYTES = 8 * 1024 * 1024;

/** The names that the Hugging Face libraries give to weight files. */
export const WEIGHTS = 'model.safetensors';
const INDEX = '.safetensors.index.json';
export const WEIGHTS_INDEX = `model${INDEX}`;

/**
 * The weights of a folder with one safetensors file, or with an index of several.
 *
 * @throws AccError `ACC_WEIGHTS_NOT_FOUND`, `ACC_SAFETENSORS_INVALID`.
 */
export async function openSafetensorsIn(location: Location): Promise<StoredWeight[]> {
  const { storage, prefix } = location;
  const names = (await storage.list(prefix)).map(({ key }) => key.slice(prefix.length));
  const here = names.filter((name) => !name.includes('/'));
  const index = here.includes(WEIGHTS_INDEX) ? WEIGHTS_INDEX : here.find((name) => name.endsWith(INDEX));
  const files = index ? [index] : here.filter((name) => name.endsWith('.safetensors'));
  if (files.length === 1) return await openSafetensors(location, files[0]!);
  const where = describeLocation(location);
  throw new AccError(
    'ACC_WEIGHTS_NOT_FOUND',
    files.length === 0
      ? `There are no weights in ${where}.`
      : `${where} has several safetensors files but no index.`,
    {
      help: 'Name the file: *.safetensors, *.safetensors.index.json or model.json.',
      details: { names: here },
    },
  );
}

/** The weights of a safetensors file, or of the files that an index names. */
export async function openSafetensors(location: Location, name: string): Promise<StoredWeight[]> {
  if (!name.endsWith(INDEX)) return await openFile(location, name);
  const bytes = await location.storage.get(location.prefix + name);
  const where = `${location.storage.location}/${location.prefix}${name}`;
  const files = [...new Set(Object.values(parseIndex(bytes, where)))];
  const opened = await Promise.all(files.map((file) => openFile(location, file)));
  requireOnce(where, files, opened);
  return opened.flat();
}

/** A tensor that two files hold has two values. */
function requireOnce(index: string, files: readonly string[], opened: readonly StoredWeight[][]): void {
  const holders = new Map<string, string>();
  opened.forEach((weights, i) => {
    for (const { name } of weights) {
      const other = holders.get(name);
      if (other !== undefined) {
        throw new AccError(
          'ACC_SAFETENSORS_INVALID',
          `'${name}' is in two files of the index ${index}: ${other} and ${files[i]}.`,
          { help: 'Remove one of them: it is not known which values are meant.', details: { name } },
        );
      }
      holders.set(name, files[i]!);
    }
  });
}

/** The file of each weight. */
function parseIndex(bytes: Uint8Array, name: string): Record<string, string> {
  let problem = 'has no weight_map of names of files';
  let cause: unknown;
  try {
    const json = parseJson(new TextDecoder().decode(bytes));
    const map = isRecord(json) ? json['weight_map'] : undefined;
    if (isRecord(map) && Object.values(map).every((file) => typeof file === 'string')) {
      return map as Record<string, string>;
    }
  } catch (error) {
    cause = error;
    problem = `cannot be read as JSON: ${(error as Error).message}`;
  }
  throw new AccError('ACC_SAFETENSORS_INVALID', `The index ${name} ${problem}.`, {
    help: 'The file may be truncated. Compare its size with the original.',
    cause,
  });
}

async function openFile({ storage, prefix }: Location, name: string): Promise<StoredWeight[]> {
  const key = prefix + name;
  const where = `${storage.location}/${key}`;
  const length = await storage.get(key, { into: new Uint8Array(LENGTH_BYTES) });
  const headerBytes = headerLength(length, where);
  const { entries, metadata } = await ifComplete(where, async () => {
    // Before memory is taken for a header that is not there.
    const last = LENGTH_BYTES + headerBytes - 1;
    if (headerBytes > 0) await storage.get(key, { start: last, into: new Uint8Array(1) });
    const text = new Uint8Array(headerBytes);
    await storage.get(key, { start: LENGTH_BYTES, into: text });
    const header = parseHeader(text, undefined, where);
    const { start = 0, byteLength = 0 } = header.entries.at(-1) ?? {};
    if (byteLength > 0) await storage.get(key, { start: start + byteLength - 1, into: new Uint8Array(1) });
    return header;
  });
  return entries.map((entry) => ({
    name: entry.key,
    shape: entry.shape,
    metadata,
    get dtype() {
      return labelOf(nativeDtypeOf(entry.dtype, entry.key));
    },
    read: (layer, box) => readEntry({ storage, file: key, entry }, box ?? fullBox(entry.shape), layer),
  }));
}

/** Runs reads of a file that exists. If bytes are missing, the file is truncated. */
async function ifComplete<T>(where: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!isAccError(error, 'ACC_STORAGE_NOT_FOUND')) throw error;
    throw new AccError('ACC_SAFETENSORS_INVALID', `${where} is truncated.`, {
      help: 'Compare its size with the original, and copy it again.',
      cause: error,
    });
  }
}

interface EntryPlace {
  readonly storage: Storage;
  readonly file: string;
  readonly entry: StoredEntry;
}

async function readEntry(place: EntryPlace, box: Box, layer: StateLayer): Promise<Tensor> {
  const { key, dtype } = place.entry;
  const target = layer.allocate(nativeDtypeOf(dtype, key), box.sizes);
  try {
    await fillBox(place, box, target.bytes);
  } catch (error) {
    target.dispose();
    throw error;
  }
  return target.toTensor();
}

/**
 * Reads single runs of elements directly into the target. Neighbouring runs are read together with
 * the gaps between them, and then copied.
 */
async function fillBox({ storage, file, entry }: EntryPlace, box: Box, target: Uint8Array): Promise<void> {
  const size = elementBytes(entry.dtype);
  let span: Run[] = [];
  const readSpan = async () => {
    const [first] = span;
    if (!first) return;
    const { from, length } = span.at(-1)!;
    const start = entry.start + first.from * size;
    const isDirect = span.length === 1;
    const into = isDirect
      ? target.subarray(first.to * size, (first.to + length) * size)
      : new Uint8Array((from + length - first.from) * size);
    await storage.get(file, { start, into });
    for (const run of isDirect ? [] : span) {
      const at = (run.from - first.from) * size;
      target.set(into.subarray(at, at + run.length * size), run.to * size);
    }
    span = [];
  };
  for (const run of sharedRuns(fullBox(entry.shape), box)) {
    const end = (run.from + run.length) * size;
    if (span.length > 0 && end - span[0]!.from * size > SPAN_BYTES) await readSpan();
    span.push(run);
  }
  await readSpan();
}

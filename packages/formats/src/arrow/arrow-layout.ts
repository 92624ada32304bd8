import type * as Arrow from 'apache-arrow';
import { isAccError } from '@acc/contract';
import { badFormat, packageMissing } from '../errors.js';
import type { Source } from '../sources/source.js';
import { verifyFlatbuffer } from './flatbuffer.js';
import { MESSAGE } from './message-shape.js';

export type ArrowModule = typeof Arrow;

/** A part of a file: `[start, end)` in bytes. */
export type Part = readonly [start: number, end: number];

export interface BatchPlace {
  readonly part: Part;
  readonly rows: number;
  /** The number of dictionary messages before it. */
  readonly dictionaries: number;
}

/** Where the messages of a file are. Plain values, which can be sent to other threads. */
export interface ArrowLayout {
  readonly schema: Part;
  readonly dictionaries: readonly Part[];
  readonly batches: readonly BatchPlace[];
}

/** The bytes that are read to see a message without its body. A longer one takes a second read. */
const HEAD_BYTES = 4 * 1024;
const MAGIC = 'ARROW1';
/** Marks the messages of the format since version 0.15. */
const CONTINUATION = 0xffffffff;

/** @throws AccError `ACC_DATA_PACKAGE`. */
export async function loadArrow(): Promise<ArrowModule> {
  try {
    return await import('apache-arrow');
  } catch (cause) {
    throw packageMissing('apache-arrow', 'arrowDataset', cause);
  }
}

/**
 * Finds the messages of a file in the file format or the stream format of Arrow IPC, and checks what
 * they state against the bytes that there are. Bodies, which are nearly all of it, are not read. The
 * file format is a stream between two magic words.
 *
 * @throws AccError `ACC_DATA_FORMAT`, also if record batches are compressed.
 */
export async function arrowLayout(arrow: ArrowModule, source: Source): Promise<ArrowLayout> {
  const magic = Buffer.from(await source.read(0, Math.min(6, source.bytes))).toString('latin1');
  let schema: Part | undefined;
  const dictionaries: Part[] = [];
  const batches: BatchPlace[] = [];
  for (let at = magic === MAGIC ? 8 : 0; at < source.bytes;) {
    const found = await messageAt(arrow, source, at);
    if (!found) break;
    const { header, end } = found;
    const part: Part = [at, end];
    if (header instanceof arrow.Schema) {
      if (schema) throw badFormat(source.name, `a second schema begins at byte ${at}`);
      schema = part;
    } else if ('isDelta' in header) dictionaries.push(part);
    else batches.push({ part, rows: header.length, dictionaries: dictionaries.length });
    at = end;
  }
  if (!schema) throw badFormat(source.name, 'it is no Arrow IPC file: it has no schema');
  return { schema, dictionaries, batches };
}

/** The message at a place, and where the next one starts. Undefined: the end of the stream. */
async function messageAt(arrow: ArrowModule, source: Source, at: number) {
  let bytes = await source.read(at, Math.min(at + HEAD_BYTES, source.bytes));
  if (bytes.length < 8) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const isMarked = view.getUint32(0, true) === CONTINUATION;
  const head = isMarked ? 8 : 4;
  const length = view.getInt32(head - 4, true);
  if (length === 0) return undefined;
  if (length < 0 || at + head + length > source.bytes) {
    throw badFormat(source.name, `it is no Arrow IPC file, or was cut off: no message begins at byte ${at}`);
  }
  if (head + length > bytes.length) bytes = await source.read(at, at + head + length);
  const { header, bodyBytes } = decoded(arrow, source, { at, metadata: bytes.subarray(head, head + length) });
  const end = at + head + length + bodyBytes;
  if (end > source.bytes) throw badFormat(source.name, 'it ends within a message');
  return { header, end };
}

/** The metadata of a record batch. The library does not export their type. */
interface RecordBatch {
  readonly length: number;
  readonly nodes: readonly { readonly length: number; readonly nullCount: number }[];
  readonly buffers: readonly { readonly offset: number; readonly length: number }[];
  readonly compression: unknown;
}

type Header = Arrow.Schema | RecordBatch | { readonly isDelta: boolean; readonly data: RecordBatch };

interface Metadata {
  readonly at: number;
  readonly metadata: Uint8Array;
}

function decoded(arrow: ArrowModule, source: Source, { at, metadata }: Metadata) {
  try {
    verifyFlatbuffer(metadata, MESSAGE);
    const message = arrow.Message.decode(metadata);
    const header = message.header() as unknown as Header;
    const bodyBytes = message.bodyLength;
    requireCount('bytes of its body', bodyBytes, source.bytes);
    if (!(header instanceof arrow.Schema)) {
      const batch = 'isDelta' in header ? header.data : header;
      requireUncompressed(source, batch);
      requireWithin(batch, bodyBytes);
    }
    return { header, bodyBytes };
  } catch (cause) {
    if (isAccError(cause)) throw cause;
    const { message } = cause as Error;
    throw badFormat(source.name, `the message at byte ${at} cannot be parsed: ${message}`, { cause });
  }
}

/** Each row of a column that can be read takes a bit or more. */
function requireWithin({ length, nodes, buffers }: RecordBatch, bodyBytes: number): void {
  requireCount('rows', length, 8 * bodyBytes);
  for (const node of nodes) {
    requireCount('values', node.length, 8 * bodyBytes);
    requireCount('nulls', node.nullCount, node.length);
  }
  for (const { offset, length: bytes } of buffers) {
    requireCount('bytes before a buffer', offset, bodyBytes);
    requireCount('bytes of a buffer', bytes, bodyBytes - offset);
  }
}

function requireCount(what: string, count: number, most: number): void {
  if (Number.isSafeInteger(count) && count >= 0 && count <= most) return;
  throw new RangeError(`it states ${count} ${what}, and there can be ${most}`);
}

function requireUncompressed(source: Source, { compression }: RecordBatch): void {
  if (!compression) return;
  throw badFormat(
    source.name,
    'its record batches are compressed, which apache-arrow cannot read by itself',
    {
      help: "Write it without: pyarrow.feather.write_feather(table, path, compression='uncompressed').",
    },
  );
}

import { badFormat } from '../errors.js';
import type { Source } from '../sources/source.js';

/**
 * The index file of tokens (`.idx`), in the format of Megatron-LM's `IndexedDataset`: magic, version (uint64), code of
 * the dtype (uint8), number of sequences (uint64), number of document bounds (uint64), the length of each sequence
 * (int32), its first byte in the `.bin` file (int64), and the first sequence of each document with the end (int64).
 * Numbers are little-endian.
 */
const MAGIC = 'MMIDIDX\0\0';
const VERSION = 1n;
const HEADER_BYTES = MAGIC.length + 8 + 1 + 8 + 8;

/** Token files of Megatron-LM have one of these dtypes, by its codes. */
const CODES = { int32: 4, uint16: 8 } as const;

export type TokenDtype = keyof typeof CODES;

export const bytesOf = (dtype: TokenDtype): number => (dtype === 'uint16' ? 2 : 4);

/** The type for a vocabulary: the smaller one that holds all tokens. */
export function dtypeFor(vocabulary: number): TokenDtype {
  return vocabulary <= 2 ** 16 ? 'uint16' : 'int32';
}

export interface TokenIndex {
  readonly dtype: TokenDtype;
  /** Where each document starts, and behind the last one the number of tokens: `[documents + 1]`. In shared memory. */
  readonly documents: Float64Array;
}

/** An index in which each document is one sequence. */
export function encodeIndex(dtype: TokenDtype, lengths: Int32Array): Uint8Array {
  const count = lengths.length;
  const bytes = Buffer.alloc(HEADER_BYTES + count * 12 + (count + 1) * 8);
  bytes.write(MAGIC, 'latin1');
  bytes.writeBigUInt64LE(VERSION, 9);
  bytes.writeUInt8(CODES[dtype], 17);
  bytes.writeBigUInt64LE(BigInt(count), 18);
  bytes.writeBigUInt64LE(BigInt(count + 1), 26);
  const pointers = HEADER_BYTES + count * 4;
  const documents = pointers + count * 8;
  let at = 0;
  for (let i = 0; i < count; i++) {
    bytes.writeInt32LE(lengths[i]!, HEADER_BYTES + i * 4);
    bytes.writeBigInt64LE(BigInt(at), pointers + i * 8);
    bytes.writeBigInt64LE(BigInt(i), documents + i * 8);
    at += lengths[i]! * bytesOf(dtype);
  }
  bytes.writeBigInt64LE(BigInt(count), documents + count * 8);
  return bytes;
}

/** @throws AccError `ACC_DATA_FORMAT`, `ACC_DATA_READ`. */
export async function readIndex(source: Source): Promise<TokenIndex> {
  const { name } = source;
  const header = Buffer.from(await source.read(0, Math.min(HEADER_BYTES, source.bytes)));
  if (header.length < HEADER_BYTES || header.toString('latin1', 0, MAGIC.length) !== MAGIC) {
    throw badFormat(name, 'it is no index of tokens', {
      help: "Give the path without its ending: 'tokens'.",
    });
  }
  const dtype = dtypeOf(header.readUInt8(17), name);
  const sequences = Number(header.readBigUInt64LE(18));
  const bounds = Number(header.readBigUInt64LE(26));
  if (header.readBigUInt64LE(9) !== VERSION || source.bytes !== HEADER_BYTES + sequences * 12 + bounds * 8) {
    throw badFormat(name, 'it is cut off, or of another version');
  }
  const bytes = Buffer.from(await source.read(0, source.bytes));
  const starts = sequenceStarts(bytes, { sequences, tokenBytes: bytesOf(dtype), name });
  return { dtype, documents: documentStarts(bytes, { starts, bounds, name }) };
}

/** Sequences lie one after another, so that their places follow from their lengths. */
function sequenceStarts(
  bytes: Buffer,
  { sequences, tokenBytes, name }: { sequences: number; tokenBytes: number; name: string },
): Float64Array {
  const starts = new Float64Array(sequences + 1);
  const pointers = HEADER_BYTES + sequences * 4;
  for (let i = 0; i < sequences; i++) {
    const length = bytes.readInt32LE(HEADER_BYTES + i * 4);
    const pointer = Number(bytes.readBigInt64LE(pointers + i * 8));
    if (length < 0 || pointer !== starts[i]! * tokenBytes) {
      const place = `it has ${length} tokens from byte ${pointer}, and the one before it ends at byte ${starts[i]! * tokenBytes}`;
      throw badFormat({ file: name, row: i, unit: 'sequence' }, place);
    }
    starts[i + 1] = starts[i]! + length;
  }
  return starts;
}

/** Documents are consecutive sequences, from the first one to the last one. */
function documentStarts(
  bytes: Buffer,
  { starts, bounds, name }: { starts: Float64Array; bounds: number; name: string },
): Float64Array {
  const sequences = starts.length - 1;
  const documents = new Float64Array(new SharedArrayBuffer(Math.max(bounds, 1) * 8));
  const at = HEADER_BYTES + sequences * 12;
  let before = 0;
  for (let i = 0; i < bounds; i++) {
    const sequence = Number(bytes.readBigInt64LE(at + i * 8));
    const isWrongEnd = (i === 0 && sequence !== 0) || (i === bounds - 1 && sequence !== sequences);
    if (sequence < before || sequence > sequences || isWrongEnd) {
      const place = `it starts with sequence ${sequence} of ${sequences}, and the one before it with ${before}`;
      throw badFormat({ file: name, row: i, unit: 'document' }, place);
    }
    before = sequence;
    documents[i] = starts[sequence]!;
  }
  if (bounds === 0 && sequences > 0) throw badFormat(name, 'it has sequences, and no documents');
  return documents;
}

function dtypeOf(code: number, name: string): TokenDtype {
  if (code === CODES.uint16) return 'uint16';
  if (code === CODES.int32) return 'int32';
  throw badFormat(name, `its tokens have the dtype of code ${code}`, {
    help: 'Tokens of the dtypes uint16 and int32 can be read.',
  });
}

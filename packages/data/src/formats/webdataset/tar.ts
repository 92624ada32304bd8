import { badFormat } from '../errors.js';

/** Tar files consist of blocks of this size. */
export const TAR_BLOCK = 512;

/** The header of a member of a tar file. */
export interface TarHeader {
  /** The name in the header itself: longer ones are in a record before it. */
  readonly name: string;
  readonly bytes: number;
  /** The type flag: '0' is a file, 'x' and 'g' are records of POSIX (pax), 'L' is a long name of GNU. */
  readonly type: string;
}

/** Undefined: a block of zeros, which ends the file. */
export function parseTarHeader(block: Uint8Array, where: string): TarHeader | undefined {
  if (block.every((byte) => byte === 0)) return undefined;
  const stated = octal(block.subarray(148, 156));
  let sum = 8 * 32;
  for (let i = 0; i < TAR_BLOCK; i++) if (i < 148 || i >= 156) sum += block[i]!;
  if (sum !== stated) {
    throw badFormat(
      where,
      'it is no tar file, or it is compressed or damaged: a header has a wrong checksum',
      {
        help: 'Shards of WebDataset are tar files without compression.',
      },
    );
  }
  const prefix = isUstar(block) ? text(block.subarray(345, 500)) : '';
  const name = text(block.subarray(0, 100));
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    bytes: sizeOf(block.subarray(124, 136)),
    type: String.fromCharCode(block[156]! || 48),
  };
}

/** The number of bytes that a content takes with its padding. */
export function paddedSize(bytes: number): number {
  return Math.ceil(bytes / TAR_BLOCK) * TAR_BLOCK;
}

/** The records of POSIX: `length key=value\n`. */
export function parsePax(content: Uint8Array, where: string): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < content.length;) {
    const space = content.indexOf(32, at);
    const length = Number(text(content.subarray(at, space)));
    if (space < 0 || !(length > 0)) throw badFormat(where, 'an extended header (pax) is damaged');
    const record = utf8(content.subarray(space + 1, at + length - 1));
    const equals = record.indexOf('=');
    records.set(record.slice(0, equals), record.slice(equals + 1));
    at += length;
  }
  return records;
}

/** Text up to its first zero. */
export function text(field: Uint8Array): string {
  const end = field.indexOf(0);
  return utf8(end < 0 ? field : field.subarray(0, end));
}

function utf8(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}

function isUstar(block: Uint8Array): boolean {
  // GNU's format has a space here, and other fields in the place of the prefix.
  return text(block.subarray(257, 263)) === 'ustar';
}

function octal(field: Uint8Array): number {
  return Number.parseInt(text(field).trim() || '0', 8);
}

/** Sizes from 8 GiB are binary (GNU). */
function sizeOf(field: Uint8Array): number {
  if ((field[0]! & 0x80) === 0) return octal(field);
  return field.subarray(1).reduce((size, byte) => size * 256 + byte, 0);
}

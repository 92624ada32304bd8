import { badFormat, type SamplePlace } from '../errors.js';

/** A place in a tar file, for messages. */
export interface TarPlace {
  readonly where: string | SamplePlace;
  /** A byte, counted from the start of the file, or of the sample that `where` names. */
  readonly at: number;
}

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
export function parseTarHeader(block: Uint8Array, place: TarPlace): TarHeader | undefined {
  if (block.every((byte) => byte === 0)) return undefined;
  const stated = octal(block.subarray(148, 156));
  let sum = 8 * 32;
  for (let i = 0; i < TAR_BLOCK; i++) if (i < 148 || i >= 156) sum += block[i]!;
  if (sum !== stated) {
    throw badFormat(
      place.where,
      `it is no tar file, or it is compressed or damaged: the header at byte ${place.at} has a wrong checksum`,
      {
        help: 'Shards of WebDataset are tar files without compression.',
      },
    );
  }
  const bytes = sizeOf(block.subarray(124, 136));
  if (!Number.isSafeInteger(bytes)) {
    throw badFormat(place.where, `the header at byte ${place.at} states no size of a member`);
  }
  const prefix = isUstar(block) ? text(block.subarray(345, 500)) : '';
  const name = text(block.subarray(0, 100));
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    bytes,
    type: String.fromCharCode(block[156]! || 48),
  };
}

/** The number of bytes that a content takes with its padding. */
export function paddedSize(bytes: number): number {
  return Math.ceil(bytes / TAR_BLOCK) * TAR_BLOCK;
}

/** The records of POSIX: `length key=value\n`. A length counts all bytes of its record. */
export function parsePax(content: Uint8Array, place: TarPlace): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < content.length;) {
    const space = content.indexOf(32, at);
    const length = space < 0 ? NaN : decimal(text(content.subarray(at, space)));
    const equals = content.indexOf(EQUALS, space);
    const end = at + length - 1;
    if (!(equals > space && equals < end && content[end] === NEWLINE)) {
      throw badFormat(place.where, `the extended header (pax) is damaged at byte ${place.at + at}`);
    }
    records.set(utf8(content.subarray(space + 1, equals)), utf8(content.subarray(equals + 1, end)));
    at = end + 1;
  }
  return records;
}

const EQUALS = 61;
const NEWLINE = 10;

/** NaN: the text is no number of bytes. */
export function decimal(digits: string): number {
  return /^\d{1,16}$/.test(digits) ? Number(digits) : NaN;
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

/** NaN: the field holds no number. */
function octal(field: Uint8Array): number {
  const digits = text(field).trim() || '0';
  return /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : NaN;
}

/** Sizes from 8 GiB are binary (GNU). A number that begins with 255 is negative, which no size is. */
function sizeOf(field: Uint8Array): number {
  if ((field[0]! & 0x80) === 0) return octal(field);
  if (field[0] !== 0x80) return NaN;
  return field.subarray(1).reduce((size, byte) => size * 256 + byte, 0);
}

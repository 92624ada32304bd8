import { badFormat, type SamplePlace } from '../errors.js';
import {
  decimal,
  paddedSize,
  parsePax,
  parseTarHeader,
  TAR_BLOCK,
  text,
  type TarHeader,
  type TarPlace,
} from './tar.js';

/** A file in a tar file. */
export interface TarMember {
  readonly name: string;
  /** The first byte of its header, or of a record that describes it. */
  readonly from: number;
  /** The first byte of its content. */
  readonly at: number;
  readonly bytes: number;
}

/** The bytes of a record that describes a member. Go's and libarchive's readers have limits of this kind, too. */
const MAX_RECORD_BYTES = 1024 * 1024;

interface Need {
  readonly at: number;
  readonly count: number;
}

/** Fields of a record that describe the member behind it. */
interface Override {
  readonly from: number;
  readonly name?: string | undefined;
  readonly bytes?: number | undefined;
}

/**
 * Goes through the headers of a tar file. It yields the place of bytes, gets them by `next(bytes)`, and returns the
 * first byte behind the last member. Folders, links and devices are skipped.
 *
 * @param at The first byte of the first header.
 */
export function* walkTar(
  where: string | SamplePlace,
  { at, end }: { readonly at: number; readonly end: number },
  onMember: (member: TarMember) => void,
): Generator<Need, number, Uint8Array> {
  let override: Override | undefined;
  let next = at;
  while (next < end) {
    const from = next;
    checkEnd(where, from + TAR_BLOCK, end);
    const header = parseTarHeader(yield { at: from, count: TAR_BLOCK }, { where, at: from });
    if (!header) return from;
    const isRecord = 'xgLK'.includes(header.type);
    const bytes = isRecord ? header.bytes : (override?.bytes ?? header.bytes);
    const content = from + TAR_BLOCK;
    next = content + paddedSize(bytes);
    checkEnd(where, content + bytes, end);
    if (isRecord) {
      if (bytes > MAX_RECORD_BYTES) {
        throw badFormat(
          where,
          `the record at byte ${from} has ${bytes} bytes, and at most ${MAX_RECORD_BYTES} are read`,
        );
      }
      const record = yield { at: content, count: bytes };
      override = { from, ...override, ...overrideOf(header, record, { where, at: content }) };
    } else {
      if (header.type === '0' || header.type === '7') {
        onMember({ name: override?.name ?? header.name, from: override?.from ?? from, at: content, bytes });
      }
      override = undefined;
    }
  }
  return Math.min(next, end);
}

function overrideOf({ type }: TarHeader, record: Uint8Array, place: TarPlace): Partial<Override> {
  if (type === 'L') return { name: text(record) };
  // Records of the whole file, and long names of links, say nothing of a file.
  if (type !== 'x') return {};
  const pax = parsePax(record, place);
  if (pax.has('GNU.sparse.major'))
    throw badFormat(place.where, 'it has a sparse file, which is not supported');
  const [name, size] = [pax.get('path'), pax.get('size')];
  const bytes = size === undefined ? undefined : decimal(size);
  if (bytes !== undefined && !Number.isSafeInteger(bytes)) {
    throw badFormat(place.where, `the extended header (pax) at byte ${place.at} states no size of a member`);
  }
  return { ...(name !== undefined && { name }), ...(bytes !== undefined && { bytes }) };
}

function checkEnd(where: string | SamplePlace, needed: number, end: number): void {
  if (needed <= end) return;
  throw badFormat(where, `it is cut off: a member ends at byte ${needed}, and the file at byte ${end}`, {
    help: 'Copy the file again from where it came.',
  });
}

import { badFormat } from '../errors.js';
import { paddedSize, parsePax, parseTarHeader, TAR_BLOCK, text, type TarHeader } from './tar.js';

/** A file in a tar file. */
export interface TarMember {
  readonly name: string;
  /** The first byte of its header, or of a record that describes it. */
  readonly from: number;
  /** The first byte of its content. */
  readonly at: number;
  readonly bytes: number;
}

interface Need {
  readonly at: number;
  readonly count: number;
}

/** What a record says of the member behind it. */
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
  where: string,
  { at, end }: { readonly at: number; readonly end: number },
  onMember: (member: TarMember) => void,
): Generator<Need, number, Uint8Array> {
  let override: Override | undefined;
  let next = at;
  while (next < end) {
    const from = next;
    checkEnd(where, from + TAR_BLOCK, end);
    const header = parseTarHeader(yield { at: from, count: TAR_BLOCK }, where);
    if (!header) return from;
    const isRecord = 'xgLK'.includes(header.type);
    const bytes = isRecord ? header.bytes : (override?.bytes ?? header.bytes);
    const content = from + TAR_BLOCK;
    next = content + paddedSize(bytes);
    checkEnd(where, content + bytes, end);
    if (isRecord) {
      const record = yield { at: content, count: bytes };
      override = { from, ...override, ...overrideOf(header, record, where) };
    } else {
      if (header.type === '0' || header.type === '7') {
        onMember({ name: override?.name ?? header.name, from: override?.from ?? from, at: content, bytes });
      }
      override = undefined;
    }
  }
  return Math.min(next, end);
}

function overrideOf({ type }: TarHeader, record: Uint8Array, where: string): Partial<Override> {
  if (type === 'L') return { name: text(record) };
  // Records of the whole file, and long names of links, say nothing of a file.
  if (type !== 'x') return {};
  const pax = parsePax(record, where);
  if (pax.has('GNU.sparse.major')) throw badFormat(where, 'it has a sparse file, which is not supported');
  const [name, size] = [pax.get('path'), pax.get('size')];
  return { ...(name !== undefined && { name }), ...(size !== undefined && { bytes: Number(size) }) };
}

function checkEnd(where: string, needed: number, end: number): void {
  if (needed <= end) return;
  throw badFormat(where, `it is cut off: a member ends at byte ${needed}, and the file at byte ${end}`, {
    help: 'Copy the file again from where it came.',
  });
}

import { parse } from 'csv-parse/sync';
import { badFormat, type SamplePlace } from '../errors.js';

export interface CellOptions {
  readonly delimiter: string;
  /** False: quotes are text. */
  readonly quote: string | false;
}

const BYTE_ORDER_MARK = /^\ufeff/;
const LINE_ENDS = /^[\r\n]+|[\r\n]+$/g;

/** The cells of one row, as text. @throws AccError `ACC_DATA_FORMAT`. */
export function cellsOf(
  bytes: Uint8Array,
  { delimiter, quote }: CellOptions,
  place: string | SamplePlace,
): string[] {
  const row = textOf(bytes, place).replace(BYTE_ORDER_MARK, '');
  // Most rows have no quotes, and are split much faster than they are parsed.
  if (quote === false || !row.includes(quote)) return row.replace(LINE_ENDS, '').split(delimiter);
  try {
    const rows = parse(row, { delimiter, quote, skip_empty_lines: true });
    if (rows.length === 1) return rows[0]!;
  } catch (cause) {
    throw badFormat(place, (cause as Error).message, {
      help: 'If quotes have no meaning, set quote to false.',
      cause,
    });
  }
  throw badFormat(place, 'its quotes are not those of a row', {
    help: 'If they have no meaning, set quote to false.',
  });
}

function textOf(bytes: Uint8Array, place: string | SamplePlace): string {
  try {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
  } catch (cause) {
    throw badFormat(place, `a row of ${bytes.length} bytes is too long for a string`, { cause });
  }
}

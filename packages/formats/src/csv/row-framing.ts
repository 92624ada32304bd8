import { badFormat } from '../errors.js';
import { readForward, type OnScan } from '../sources/read-forward.js';
import type { Source } from '../sources/source.js';

const NEWLINE = 10;
const RETURN = 13;

export interface RowFraming {
  /** The byte that encloses cells with newlines and delimiters. Undefined: there are no such cells. */
  readonly quote: number | undefined;
  /** Whether the first row has the names of the columns. */
  readonly hasHeader: boolean;
}

/**
 * Where the rows of a file start, and the end of the file. A newline within quotes ends no row. A quote within quotes
 * is written twice, which opens them again at once. Blank lines are no rows.
 */
export async function scanRows(
  source: Source,
  onScan: OnScan,
  { quote, hasHeader }: RowFraming,
): Promise<number[]> {
  const starts: number[] = [];
  let isInRow = false;
  let isQuoted = false;
  for await (const { piece, at } of readForward(source, onScan)) {
    for (let i = 0; i < piece.length; i++) {
      const byte = piece[i]!;
      if (byte === quote) isQuoted = !isQuoted;
      if (byte === NEWLINE && !isQuoted) {
        isInRow = false;
      } else if (!isInRow && byte !== NEWLINE && byte !== RETURN) {
        starts.push(at + i);
        isInRow = true;
      }
    }
  }
  if (isQuoted) {
    throw badFormat(source.name, 'a quote is opened and never closed', {
      help: 'The file is cut off, or its quotes have no meaning: set quote to false.',
    });
  }
  starts.push(source.bytes);
  // The header is read by itself. A file without any row has none.
  return hasHeader && starts.length > 1 ? starts.slice(1) : starts;
}

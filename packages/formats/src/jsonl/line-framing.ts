import { readForward, type OnScan } from '../sources/read-forward.js';
import type { Source } from '../sources/source.js';

const NEWLINE = 10;
/** Space, tab, carriage return, newline: lines of these alone hold no sample. */
const isBlank = (byte: number) => byte === 32 || byte === 9 || byte === 13 || byte === NEWLINE;

/** Where the lines of a file start that are not blank, and the end of the file. The last one may lack its newline. */
export async function scanLines(source: Source, onScan: OnScan): Promise<number[]> {
  const starts: number[] = [];
  let line = 0;
  let isCounted = false;
  for await (const { piece, at } of readForward(source, onScan)) {
    for (let i = 0; i < piece.length; i++) {
      if (!isCounted && !isBlank(piece[i]!)) {
        starts.push(line);
        isCounted = true;
      }
      if (!isCounted) {
        if (piece[i] === NEWLINE) line = at + i + 1;
        continue;
      }
      i = piece.indexOf(NEWLINE, i);
      if (i < 0) break;
      line = at + i + 1;
      isCounted = false;
    }
  }
  starts.push(source.bytes);
  return starts;
}

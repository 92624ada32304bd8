import type { Source } from './source.js';

/** The bytes of one read: few requests, little memory. */
const READ_BYTES = 8 * 1024 * 1024;

/** Called while a file is read from its start to its end. */
export type OnScan = (progress: {
  /** The path or address of the file. */
  readonly file: string;
  readonly bytesDone: number;
  readonly bytesTotal: number;
}) => void;

/** Yields the bytes of a file in large pieces, each with its place. The next piece is read meanwhile. */
export async function* readForward(
  source: Source,
  onScan: OnScan,
): AsyncGenerator<{ readonly piece: Uint8Array; readonly at: number }, void, undefined> {
  const { name: file, bytes: bytesTotal } = source;
  const read = (at: number) => source.read(at, Math.min(at + READ_BYTES, bytesTotal));
  let next = bytesTotal > 0 ? read(0) : undefined;
  for (let at = 0; next;) {
    const piece = await next;
    const end = at + piece.length;
    next = end < bytesTotal ? read(end) : undefined;
    // If the reader stops, nobody waits for this read.
    next?.catch(() => {});
    yield { piece, at };
    onScan({ file, bytesDone: end, bytesTotal });
    at = end;
  }
}

/** Shows the progress of scans that take long on the standard error: a line every five seconds. */
export function showScans(): OnScan {
  let shown = performance.now();
  return ({ file, bytesDone, bytesTotal }) => {
    const now = performance.now();
    if (now - shown < EVERY_MS) return;
    shown = now;
    const gib = (bytes: number) => (bytes / 2 ** 30).toFixed(2);
    process.stderr.write(
      `acc data: making the index of ${file}: ${gib(bytesDone)} of ${gib(bytesTotal)} GiB\n`,
    );
  };
}

const EVERY_MS = 5_000;

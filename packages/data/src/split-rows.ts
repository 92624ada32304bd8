/** `count` rows from row `start` on. */
export interface RowRange {
  readonly start: number;
  readonly count: number;
}

/** Cuts `rows` rows into contiguous parts that differ by at most one row. The larger parts come first. */
export function splitRows(rows: number, parts: number): RowRange[] {
  const base = Math.floor(rows / parts);
  const larger = rows % parts;
  return Array.from({ length: parts }, (_, i) => ({
    start: i * base + Math.min(i, larger),
    count: base + (i < larger ? 1 : 0),
  }));
}

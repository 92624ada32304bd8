/** `count` rows starting at row `start`. */
export interface RowRange {
  readonly start: number;
  readonly count: number;
}

/**
 * Splits `rows` rows into contiguous parts whose sizes differ by at most one. The larger parts come
 * first.
 */
export function splitRows(rows: number, parts: number): RowRange[] {
  const base = Math.floor(rows / parts);
  const larger = rows % parts;
  return Array.from({ length: parts }, (_, i) => ({
    start: i * base + Math.min(i, larger),
    count: base + (i < larger ? 1 : 0),
  }));
}

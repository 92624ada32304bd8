// Source maps, version 3 (https://tc39.es/ecma426/): the mappings around a place in a script.

/** From a column of a line of the script to a place in a source. Lines and columns count from 0. */
export interface Mapping {
  readonly line: number;
  readonly column: number;
  /** The index in `sources`. Undefined for code that the compiler added. */
  readonly source: number | undefined;
  readonly sourceLine: number;
  readonly sourceColumn: number;
}

export interface DecodedMap {
  readonly sources: readonly string[];
  /** In the order of the script. */
  readonly mappings: readonly Mapping[];
}

const DIGITS = new Map(
  [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].map((digit, value) => [
    digit,
    value,
  ]),
);

export function decodeMap(json: string): DecodedMap {
  const map = JSON.parse(json) as { sources: (string | null)[]; sourceRoot?: string; mappings: string };
  const mappings: Mapping[] = [];
  let [source, sourceLine, sourceColumn] = [0, 0, 0];
  map.mappings.split(';').forEach((segments, line) => {
    let column = 0;
    for (const segment of segments.split(',')) {
      const [columns, sources, lines, sourceColumns] = numbersOf(segment);
      if (columns === undefined) continue;
      column += columns;
      source += sources ?? 0;
      sourceLine += lines ?? 0;
      sourceColumn += sourceColumns ?? 0;
      mappings.push({
        line,
        column,
        source: sources === undefined ? undefined : source,
        sourceLine,
        sourceColumn,
      });
    }
  });
  return { sources: map.sources.map((path) => (map.sourceRoot ?? '') + (path ?? '')), mappings };
}

/** The numbers of one segment: digits of 5 bits, the lowest first, with the sign in the lowest bit. */
function numbersOf(segment: string): number[] {
  const numbers: number[] = [];
  let [value, shift] = [0, 0];
  for (const character of segment) {
    const digit = DIGITS.get(character)!;
    value += (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}

/** The last mapping at or before a place, and the first at or behind it. Both are the same if it is mapped. */
export function mappingsAround(
  { mappings }: DecodedMap,
  line: number,
  column: number,
): [before: Mapping | undefined, behind: Mapping | undefined] {
  let [low, high] = [0, mappings.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const { line: at, column: from } = mappings[middle]!;
    if (at < line || (at === line && from < column)) low = middle + 1;
    else high = middle;
  }
  const behind = mappings[low];
  const isExact = behind?.line === line && behind.column === column;
  return [isExact ? behind : mappings[low - 1], behind];
}

import { groupBy } from './group-by.js';
import type { SourceLine } from './source-places.js';

/** The largest number of ranges of lines that are named. */
const MAX_RANGES = 8;

/**
 * Lines as text: `model.ts:3–5, 9; gradient of model.ts:3–5`. Undefined if there are none.
 */
export function textOfLines(lines: readonly SourceLine[]): string | undefined {
  const ranges = [false, true].flatMap((isGradient) =>
    rangesOf(
      lines.filter((line) => line.isGradient === isGradient),
      isGradient ? 'gradient of ' : '',
    ),
  );
  const left = ranges.length - MAX_RANGES;
  if (ranges.length === 0) return undefined;
  return `${ranges.slice(0, MAX_RANGES).join('; ')}${left > 0 ? `; and ${left} more files` : ''}`;
}

/** One text for each file. */
function rangesOf(lines: readonly SourceLine[], prefix: string): string[] {
  const files = groupBy(lines, ({ file }) => file);
  return [...files].map(([file, all]) => {
    const numbers = [...new Set(all.map(({ line }) => line))].toSorted((a, b) => a - b);
    const ranges: [first: number, last: number][] = [];
    for (const line of numbers) {
      const range = ranges.at(-1);
      if (range && line === range[1] + 1) range[1] = line;
      else ranges.push([line, line]);
    }
    const texts = ranges.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`));
    return `${prefix}${file}:${texts.join(', ')}`;
  });
}

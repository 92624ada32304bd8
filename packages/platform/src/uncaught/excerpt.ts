/** The numbers of characters of a long line that are shown before and after a column. */
const BEFORE = 60;
const AFTER = 40;

/**
 * A line of a program with a caret below one of its columns.
 *
 * @param column From 0.
 */
export function excerptOf(line: string, column: number): readonly [string, string] {
  const start = Math.max(0, column - BEFORE);
  const shown = line.slice(start, column + AFTER).trimEnd();
  return [`    ${shown}`, `    ${line.slice(start, column).replace(/[^\t]/g, ' ')}^`];
}

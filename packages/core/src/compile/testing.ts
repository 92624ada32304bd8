import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Finds the lines of a file that end with a comment, as reasons and `explain` name them.
 *
 * @param url `import.meta.url` of the file.
 */
export function linesOf(url: string): (mark: string) => string {
  const path = fileURLToPath(url);
  const sources = readFileSync(path, 'utf8').split('\n');
  return (mark) => {
    const lines = sources.flatMap((text, i) => (text.endsWith(`// ${mark}`) ? [i + 1] : []));
    if (lines.length !== 1) throw new Error(`${lines.length} lines end with // ${mark}`);
    return `${relative(process.cwd(), path)}:${lines[0]}`;
  };
}

/**
 * The largest difference of the elements of two tensors, relative to the largest magnitude of
 * `expected`.
 */
export function relativeDifference(values: ArrayLike<number>, expected: ArrayLike<number>): number {
  const largest = Math.max(...Array.from(expected, Math.abs));
  return Math.max(...Array.from(values, (value, i) => Math.abs(value - expected[i]!))) / largest;
}

import { AccError } from './errors.js';

/**
 * Refuses keys that are not known and names the nearest known one.
 *
 * @param where What the record is, as the user wrote it: `AcceleratorOptions`, `ddp`.
 * @throws AccError `ACC_UNKNOWN_OPTION`.
 */
export function checkKeys(where: string, record: object, known: readonly string[]): void {
  for (const key of Object.keys(record)) {
    if (known.includes(key)) continue;
    const nearest = nearestName(key, known);
    throw new AccError('ACC_UNKNOWN_OPTION', `${where}: unknown option '${key}'.`, {
      help: nearest ? `Did you mean '${nearest}'?` : `Known options: ${known.join(', ')}.`,
      details: { where, key, nearest, known },
    });
  }
}

/** The known name nearest to `name` by edit distance, or undefined when none is near enough to be a slip. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const limit = Math.max(2, Math.floor(name.length / 2));
  let best: string | undefined;
  let bestDistance = limit + 1;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** Levenshtein distance, by one row of the table at a time. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(substitution, previous[j]! + 1, row[j - 1]! + 1));
    }
    previous = row;
  }
  return previous[b.length]!;
}

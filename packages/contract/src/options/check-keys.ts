import { distance } from 'fastest-levenshtein';
import { AccError } from '../errors/errors.js';
import { isRecord } from '../records/records.js';

/**
 * Rejects values that are not records, and unknown keys. The error names the nearest known key.
 *
 * @param where The record as the user wrote it: `AcceleratorOptions`, `ddp`.
 * @throws AccError `ACC_INVALID_OPTION`, `ACC_UNKNOWN_OPTION`.
 */
export function checkKeys(where: string, record: object, known: readonly string[]): void {
  if (!isRecord(record)) throw noRecord(where, record, known);
  for (const key of Object.keys(record)) {
    if (known.includes(key)) continue;
    const nearest = nearestName(key, known);
    throw new AccError('ACC_UNKNOWN_OPTION', `${where}: unknown option '${key}'.`, {
      help: nearest ? `Did you mean '${nearest}'?` : `Known options: ${known.join(', ')}.`,
      details: { where, key, nearest, known },
    });
  }
}

function noRecord(where: string, value: unknown, known: readonly string[]): AccError {
  const others = known.length > 1 ? ` Known options: ${known.join(', ')}.` : '';
  return new AccError('ACC_INVALID_OPTION', `${where}: options are ${brief(value)}; expected an object.`, {
    help:
      known.length > 0
        ? `Give options by name, for example { ${known[0]}: … }.${others}`
        : 'There are no options. Leave the argument out.',
    details: { where, known },
  });
}

function brief(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`;
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null) return String(value);
  return Array.isArray(value) ? 'an array' : `a ${value.constructor?.name ?? 'object'}`;
}

/**
 * The known name nearest to `name` by edit distance. Undefined if none is near enough to be a
 * typing error.
 *
 * @param mostEdits The largest distance from a known name. Default: half of the letters of `name`,
 * at least 2.
 */
export function nearestName(
  name: string,
  known: readonly string[],
  mostEdits: (known: string) => number = () => Math.max(2, Math.floor(name.length / 2)),
): string | undefined {
  let best: string | undefined;
  let [bestDistance, bestExact] = [Infinity, Infinity];
  for (const candidate of known) {
    const edits = distance(name.toLowerCase(), candidate.toLowerCase());
    if (edits > mostEdits(candidate) || edits > bestDistance) continue;
    const exact = distance(name, candidate);
    // Of two names that differ in capitals only, the one with the same capitals is meant.
    if (edits === bestDistance && exact >= bestExact) continue;
    [best, bestDistance, bestExact] = [candidate, edits, exact];
  }
  return best;
}

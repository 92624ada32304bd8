import { AccError } from '@acc/contract';

const SHOWN = 5;

/** The error for lists that differ. */
export interface SameListsOptions {
  readonly code: string;
  /** A sentence without its period: "Ranks prepared different variables". */
  readonly message: string;
  readonly help: string;
  /** The name of one entry: "variable". */
  readonly entry: string;
}

/**
 * Requires that every rank has the same list. All ranks give the same lists, so all of them throw.
 *
 * @param lists The list of every rank, by rank, with a text for each entry.
 * @throws AccError `code`, with the first entries that differ on each rank.
 */
export function requireSameLists(
  lists: readonly (readonly string[])[],
  { code, message, help, entry }: SameListsOptions,
): void {
  const longest = Math.max(...lists.map(({ length }) => length));
  const differing: string[] = [];
  for (let i = 0; i < longest; i++) {
    const sides = lists.map((list) => list[i] ?? '(none)');
    if (sides.every((side) => side === sides[0])) continue;
    const lines = sides.map((side, rank) => `    rank ${rank}: ${side}`);
    differing.push(`  ${entry} ${i}:\n${lines.join('\n')}`);
  }
  if (differing.length === 0) return;
  const more = differing.length > SHOWN ? `\n  … and ${differing.length - SHOWN} more` : '';
  throw new AccError(code, `${message}:\n${differing.slice(0, SHOWN).join('\n')}${more}`, {
    help,
    details: { lists },
  });
}

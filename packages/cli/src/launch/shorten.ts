/** The numbers of lines of a long error that are shown, and of characters of a line. */
const FIRST_LINES = 12;
const LAST_LINES = 6;
const MOST_CHARACTERS = 500;

/** An error for the screen. Of a long one the middle is left out: its end may have the next step. */
export function shorten(lines: readonly string[]): readonly string[] {
  const narrow = lines.map((line) =>
    line.length > MOST_CHARACTERS ? `${line.slice(0, MOST_CHARACTERS)}…` : line,
  );
  const more = lines.length - FIRST_LINES - LAST_LINES;
  if (more <= 1) return narrow;
  return [...narrow.slice(0, FIRST_LINES), `… ${more} more lines`, ...narrow.slice(-LAST_LINES)];
}

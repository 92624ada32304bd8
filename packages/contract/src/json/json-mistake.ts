/** A mistake in a JSON text, for the message of an error. */
export interface JsonMistake {
  /** The reason and its place, the line of the text, and a caret below it. No full stop at the end. */
  readonly problem: string;
  /** The next step. */
  readonly help: string;
}

const TRUNCATED = 'The file may be truncated. Compare its size with the original.';
const POSITION = /(?: in JSON)? at position (\d+)(?: \(line \d+ column \d+\))?$/;
/** V8's message if it shows the text around the mistake in place of the position. */
const UNEXPECTED = /^(Unexpected token '(.)'), (\.\.\.)?"(.*?)"(?:\.\.\.)? is not valid JSON$/su;
/** The number of characters that V8 shows before the mistake, if it does not show the text from its beginning. */
const SHOWN_BEFORE = 10;
/** The most places that are tried. A try parses the text up to there. */
const MOST_TRIES = 100;
const ENDS_EARLY = 'Unexpected end of JSON input';
/** The numbers of characters of a long line that are shown before and after the mistake. */
const BEFORE = 50;
const AFTER = 30;

/**
 * Finds the place of the mistake for which `JSON.parse` refused a text.
 *
 * @param cause The error that it threw.
 */
export function jsonMistake(text: string, cause: unknown): JsonMistake {
  const message = cause instanceof Error ? cause.message : String(cause);
  const at = positionOf(text, message);
  if (at === undefined) return { problem: message, help: 'Correct it.' };
  const what = UNEXPECTED.exec(message)?.[1] ?? message.replace(POSITION, '');
  const before = text.slice(0, at).split('\n');
  const [line, column] = [before.length, before.at(-1)!.length];
  return {
    problem: `${what} at line ${line}, column ${column + 1}:\n${excerpt(text.split('\n')[line - 1]!, column)}`,
    help: stepFor(text, at),
  };
}

function positionOf(text: string, message: string): number | undefined {
  if (message === ENDS_EARLY) return text.trimEnd().length;
  const position = POSITION.exec(message)?.[1];
  if (position !== undefined) return Number(position);
  const [, , token, cut, shown] = UNEXPECTED.exec(message) ?? [];
  if (token === undefined || shown === undefined) return undefined;
  // The token itself may be many times in the text, but rarely what V8 shows around it.
  const [part, offset] = cut ? [shown, SHOWN_BEFORE] : [token, 0];
  let at = text.indexOf(part);
  for (let tries = 0; at >= 0 && tries < MOST_TRIES; tries++, at = text.indexOf(part, at + 1)) {
    const place = at + offset;
    if (isWholeUpTo(text, place) && !isWholeUpTo(text, place + token.length)) return place;
  }
  return undefined;
}

/** Whether a text is the beginning of JSON, and ends between two of its words. */
function isWholeUpTo(text: string, end: number): boolean {
  try {
    JSON.parse(text.slice(0, end));
    return true;
  } catch (error) {
    return (error as Error).message === ENDS_EARLY;
  }
}

function excerpt(line: string, column: number): string {
  const start = Math.max(0, column - BEFORE);
  const shown = line.slice(start, column + AFTER).trimEnd();
  return `    ${shown}\n    ${shown.slice(0, column - start).replace(/[^\t]/g, ' ')}^`;
}

function stepFor(text: string, at: number): string {
  const next = text[at];
  if (next === undefined || text.trimEnd().length <= at) return TRUNCATED;
  if (next === "'") return 'JSON takes double quotes only.';
  if (next === '/' || next === '#') return 'JSON has no comments: remove them.';
  if (next === '\ufeff') return 'Save the file as UTF-8 without a byte order mark.';
  if (/^-?(?:NaN|Infinity)/.test(text.slice(at, at + 9)))
    return 'JSON has no NaN and no Infinity: write a number or null.';
  const isClosing = next === '}' || next === ']';
  if (isClosing && text.slice(0, at).trimEnd().endsWith(','))
    return `Remove the comma before ${next}: JSON has none there.`;
  return 'Correct it there.';
}

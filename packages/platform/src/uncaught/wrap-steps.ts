/** The columns of an output that is not a terminal. */
const COLUMNS = 100;
const FEWEST_COLUMNS = 40;
const STEP = /^(\s*)→ /;

/** Where a text goes: a terminal, a pipe or a file. */
export interface WrappedFor {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/**
 * Breaks the lines of next steps that are longer than the output is wide: between words on a terminal, and
 * between sentences elsewhere, so that no command of a log is in two lines.
 */
export function wrapSteps(text: string, { isTTY = false, columns = COLUMNS }: WrappedFor): string {
  const width = widthOf({ isTTY, columns });
  const lines = text.split('\n');
  return lines.flatMap((line) => (line.length > width ? wrapStep(line, width, isTTY) : [line])).join('\n');
}

/** Breaks the lines of a text that are longer than the output is wide between words. */
export function wrapText(text: string, output: WrappedFor): string {
  const width = widthOf(output);
  const wrapLine = (line: string) => (line.length > width ? joined(line.split(' '), width, '') : [line]);
  return text.split('\n').flatMap(wrapLine).join('\n');
}

const widthOf = ({ isTTY = false, columns = COLUMNS }: WrappedFor): number =>
  isTTY ? Math.max(columns, FEWEST_COLUMNS) : COLUMNS;

function wrapStep(line: string, width: number, isTerminal: boolean): string[] {
  const [, indent] = STEP.exec(line) ?? [];
  if (indent === undefined) return [line];
  const [first = '', ...parts] = line.trim().split(isTerminal ? ' ' : /(?<=[.?!;]) /);
  return joined([indent + first, ...parts], width, `${indent}  `);
}

/** Joins parts to lines of at most `width` characters. All lines but the first begin with `indent`. */
function joined([first = '', ...parts]: readonly string[], width: number, indent: string): string[] {
  const lines = [first];
  for (const part of parts) {
    const longer = `${lines.at(-1)} ${part}`;
    if (longer.length > width) lines.push(indent + part);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

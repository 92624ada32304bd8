import { findSourceMap } from 'node:module';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { laterUserFrame, userFrame, type ScriptPosition } from './user-frames.js';

/** A line of the user's program. */
export interface SourceLine {
  /** Relative to the working directory. */
  readonly file: string;
  readonly line: number;
  /** Whether the gradient of the line's operator runs there. */
  readonly isGradient: boolean;
}

type Place = ScriptPosition | { readonly gradientOf: number };

/** The places in the user's program at which calls of a recorded step are made, as numbers from 0. */
export class SourcePlaces {
  readonly #places: Place[] = [];
  readonly #numbers = new Map<string, number>();
  /** The place of the operator whose gradient runs. */
  #gradientOf: number | undefined;
  #last = -1;

  /** The place that was found last. */
  get last(): number {
    return this.#last;
  }

  /** The place that is running now; -1 if no frame of the stack belongs to the user's program. */
  readonly find = (): number => {
    this.#last = this.#find();
    return this.#last;
  };

  /** As {@link find}, without being the place that was found last. */
  readonly peek = (): number => this.#find();

  #find(): number {
    const frame = userFrame(
      (position) => this.#numbers.has(keyOf(position)),
      this.#gradientOf === undefined ? undefined : (name) => name === runGradient.name,
    );
    if (frame === undefined) return -1;
    return this.#numberOf(frame === 'end' ? { gradientOf: this.#gradientOf! } : frame);
  }

  /** Runs a part of the gradient of an operator whose place is `place`. */
  inGradient<T>(place: number, run: () => T): T {
    const before = this.#gradientOf;
    const known = this.#places[place];
    this.#gradientOf = known && 'gradientOf' in known ? known.gradientOf : place;
    try {
      return runGradient(run);
    } finally {
      this.#gradientOf = before;
    }
  }

  /** The line of a place. Undefined for -1. */
  lineOf(place: number): SourceLine | undefined {
    const known = this.#places[place];
    if (!known) return undefined;
    if (!('gradientOf' in known)) return { ...originOf(known), isGradient: false };
    const forward = this.lineOf(known.gradientOf);
    return forward && { ...forward, isGradient: true };
  }

  /** A reason with the line of a place, if there is one. */
  reasonAt(reason: string, place: number): string {
    const line = this.lineOf(place);
    return line ? reasonAt(reason, textOfLine(line)) : reason;
  }

  #numberOf(place: Place): number {
    const key = 'gradientOf' in place ? `gradient ${place.gradientOf}` : keyOf(place);
    let number = this.#numbers.get(key);
    if (number === undefined) {
      number = this.#places.push(place) - 1;
      this.#numbers.set(key, number);
    }
    return number;
  }
}

/** See `Recorder.here`. */
export function here(): () => string | undefined {
  const find = laterUserFrame();
  return () => {
    const position = find();
    return position && textOfLine({ ...originOf(position), isGradient: false });
  };
}

const reasonAt = (reason: string, line: string): string => `${reason}, at ${line}`;

const textOfLine = ({ file, line, isGradient }: SourceLine): string =>
  `${isGradient ? 'the gradient of ' : ''}${file}:${line}`;

/** A frame with its name separates the gradient of an operator from the call of `minimize`. */
function runGradient<T>(run: () => T): T {
  return run();
}

const keyOf = ({ script, line, column }: ScriptPosition): string => `${script}:${line}:${column}`;

/** The position in the sources, if source maps are on. */
function originOf({ script, line, column, text }: ScriptPosition): Omit<SourceLine, 'isGradient'> {
  const formatted = text && /(?:\(|at )([^()]+):(\d+):\d+\)?\s*$/.exec(text);
  if (formatted) return { file: shortPath(formatted[1]!), line: Number(formatted[2]) };
  const found = findSourceMap(script)?.findEntry(line - 1, column - 1);
  return found && 'originalSource' in found
    ? { file: shortPath(found.originalSource), line: found.originalLine + 1 }
    : { file: shortPath(script), line };
}

function shortPath(file: string): string {
  return relative(process.cwd(), file.startsWith('file:') ? fileURLToPath(file) : file);
}

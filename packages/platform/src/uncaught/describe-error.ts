import { inspect, types } from 'node:util';
import { isAccError, programFrames, programStack, showsWholeStack, withoutHelp } from '@acc/contract';
import { describeCompilerError, isOfCompiler } from './compiler-error.js';
import { wrongImport } from './import-error.js';

/** The number of causes, and of errors of an AggregateError, that are shown. */
const MOST_CAUSES = 4;
/** The number of characters that show the properties of an error. */
const MOST_PROPERTIES = 200;
const SHOWN_ELSEWHERE = ['name', 'message', 'stack', 'code', 'cause', 'errors', 'help', 'details'];
const FRAME = /^\s+at /;
/** The end of the message of Node.js about a promise that was rejected with a value that is no error. */
const REJECTED_VALUE = /with the reason (".*")\.$/s;
const CAUSED_AT = 'caused at:';
/** Frames of Node.js, and of what compiles a program for it. */
const OF_RUNTIME = /[( ]node:|[\\/]node_modules[\\/](?:esbuild|tsx)[\\/]/;
const PLACED = /^(\S+):\d+\n/;
/** Messages of the parser about the syntax of ES modules in a CommonJS module. */
const OF_MODULES =
  /^(?:Cannot use (?:import|'import)|Unexpected token 'export'|await is only valid in async)/;
/** The codes of errors that say no more than that something is not there. */
const ABSENT = /^(?:ENOENT|(?:ERR_)?MODULE_NOT_FOUND|ACC_STORAGE_NOT_FOUND)$/;
const OF_ABSENCE = /_(?:NOT_FOUND|MISSING)$/;

/**
 * An error for the screen: its header, of its causes only what is not said yet, the next step, and last the
 * program's own frames. The value of a `throw` may be anything.
 */
export function describeError(error: unknown): string {
  if (!isError(error)) return describeValue(inspect(error));
  const rejection = REJECTED_VALUE.exec(String(error.message));
  if (rejection && (error as NodeJS.ErrnoException).code === 'ERR_UNHANDLED_REJECTION')
    return describeValue(rejection[1]!);
  if (isOfCompiler(error)) return describeCompilerError(error);
  const { head, step, frames } = partsOf(error);
  const lines = [...head, ...propertyLines(error)];
  const seen = new Set<unknown>([error]);
  const causes = causesOf(error, step !== undefined);
  for (let next = causes.shift(); next !== undefined && seen.size <= MOST_CAUSES; next = causes.shift()) {
    if (seen.has(next.cause)) continue;
    seen.add(next.cause);
    const added = causeLines(next, [...lines, ...frames], error);
    (added[0] === CAUSED_AT ? frames : lines).push(...added);
    causes.push(...causesOf(next.cause, next.isAdvised || stepOf(next.cause) !== undefined));
  }
  return [...lines, ...(step ?? []), ...frames].join('\n');
}

/** An error with everything that it has: causes with their frames, properties and details. */
export function wholeError(error: unknown): string {
  if (!isError(error)) return describeError(error);
  const whole = inspect(error);
  const hidden = isAccError(error) && !showsWholeStack() ? error.details : {};
  return Object.keys(hidden).length === 0
    ? whole
    : `${whole}\ndetails: ${inspect(hidden, { depth: 4, maxArrayLength: null })}`;
}

/** Errors of another realm, such as a `vm` context, are not instances of this realm's class. */
function isError(error: unknown): error is Error {
  return types.isNativeError(error) || error instanceof Error;
}

function describeValue(value: string): string {
  return `Uncaught ${value}\n→ Throw an Error: other values do not keep the line that threw them.`;
}

/** A cause of an error. */
interface Cause {
  readonly cause: unknown;
  /** Whether an error above it says what to do. */
  readonly isAdvised: boolean;
}

interface Parts {
  /** The header, which may have several lines, without the next step. */
  readonly head: readonly string[];
  readonly step: readonly string[] | undefined;
  /** The program's own. */
  readonly frames: string[];
}

function partsOf(error: Error): Parts {
  const text = textOf(error);
  const message = String(error.message);
  const end = message === '' ? text.indexOf('\n') : endOfMessage(text, message);
  const [header, rest] = end < 0 ? [text, ''] : [text.slice(0, end), text.slice(end)];
  const step = stepOf(error);
  const head = step && header.endsWith(`\n${step}`) ? header.slice(0, -step.length - 1) : header;
  const frames = rest.split('\n').filter((line) => line.trim() !== '' && !OF_RUNTIME.test(line));
  const wrong = wrongImport(error);
  return {
    head: (wrong ? head.replace(wrong.importer, wrong.source) : head).split('\n'),
    step: (step ?? wrong?.step ?? moduleStep(text, error))?.split('\n'),
    frames: wrong && !hasProgramFrames(rest) ? [wrong.frame] : frames,
  };
}

/** The next step if a file with the syntax of ES modules is none. */
function moduleStep(text: string, { name, message }: Error): string | undefined {
  const [, file] = PLACED.exec(text) ?? [];
  if (name !== 'SyntaxError' || !OF_MODULES.test(message) || !file || file.includes('node_modules'))
    return undefined;
  const typed = file.endsWith('.cjs') ? '' : 'set "type": "module" in its package.json, or ';
  return `→ A file with import, export or await outside of a function must be an ES module: ${typed}rename it to .mjs`;
}

/** The message may be a part of the error's name, too. */
function endOfMessage(text: string, message: string): number {
  const separator = text.indexOf(`: ${message}`);
  return (separator < 0 ? text.indexOf(message) : separator + 2) + message.length;
}

function stepOf(error: unknown): string | undefined {
  return isAccError(error) && error.help ? `→ ${error.help}` : undefined;
}

/** The header, and the program's own frames. */
function textOf(error: Error): string {
  const { name, code } = error as Error & { readonly code?: unknown };
  const message = String(error.message);
  const stack = typeof error.stack === 'string' ? error.stack : '';
  // The message may have been changed since the stack was written.
  const header = stack.includes(message) ? stack : `${name}: ${message}`;
  const frames = header === stack ? [] : stack.split('\n').filter((line) => FRAME.test(line));
  const whole = programStack([header, ...frames].join('\n'), message);
  // An error of the parser begins with its place, and has frames of Node.js only. Ours say what to do.
  const isPlaced = PLACED.test(whole) || (isAccError(error) && !hasProgramFrames(whole));
  const text = isPlaced ? whole.slice(0, endOfMessage(whole, message)) : whole;
  const isCoded = typeof code === 'string' && !text.includes(code);
  const coded = isCoded ? text.replace(/^\w+(?=:)/, `$& [${code}]`) : text;
  // A class that sets no name has the one of Error.
  const kind = name === 'Error' ? error.constructor?.name : name;
  return typeof kind === 'string' && kind ? coded.replace(/^Error\b/, () => kind) : coded;
}

function hasProgramFrames(stack: string): boolean {
  return programFrames(stack.split('\n').filter((line) => FRAME.test(line))).length > 0;
}

/** Properties that an error has besides, such as the status of an answer, in one line. */
function propertyLines(error: Error): string[] {
  if (isAccError(error) || wrongImport(error)) return [];
  const own = Object.entries(error).filter(([name]) => !SHOWN_ELSEWHERE.includes(name));
  if (own.length === 0) return [];
  const limits = { depth: 1, breakLength: Infinity, maxArrayLength: 5, maxStringLength: MOST_PROPERTIES };
  const text = inspect(Object.fromEntries(own), limits).replaceAll('\n', ' ');
  return [`    ${text.length > MOST_PROPERTIES ? `${text.slice(0, MOST_PROPERTIES)}…` : text}`];
}

function causesOf(error: unknown, isAdvised: boolean): Cause[] {
  const { cause, errors } = Object(error) as { readonly cause?: unknown; readonly errors?: unknown };
  const all = [...(Array.isArray(errors) ? (errors as unknown[]) : []), cause];
  return all.filter((one) => one !== undefined).map((one) => ({ cause: one, isAdvised }));
}

/** The lines that a cause adds to those before: its header if that is not said yet, and frames of the program. */
function causeLines({ cause, isAdvised }: Cause, before: readonly string[], error: Error): string[] {
  const said = before.filter((line) => !FRAME.test(line)).join('\n');
  if (!isError(cause)) {
    const shown = typeof cause === 'string' ? cause : inspect(cause);
    return said.includes(shown) ? [] : [`caused by: ${shown}`];
  }
  const { head, step = [], frames: all } = partsOf(cause);
  const known = new Set(before.map(lineOfFrame));
  const frames = programFrames(all.filter((line) => FRAME.test(line) && !known.has(lineOfFrame(line))));
  // Others name the file in another way, but say why it could not be read in the same.
  const reason = withoutHelp(String(cause.message)).replace(/\.$/, '').split(' failed: ').at(-1)!;
  if (!said.includes(reason) && !isOfAbsence(error, cause)) {
    const [first, ...others] = head;
    return [`caused by: ${first}`, ...others, ...(isAdvised ? [] : step), ...frames];
  }
  return frames.length > 0 ? [CAUSED_AT, ...frames] : [];
}

/** The file and the line of a frame, without the function and the column. */
function lineOfFrame(frame: string): string {
  return /[^\s(]+:\d+(?=:\d+\)?$)/.exec(frame)?.[0] ?? frame;
}

/** Whether an error of ours says that something is missing, and the cause is that it is not there. */
function isOfAbsence(error: Error, cause: Error): boolean {
  const { code } = cause as NodeJS.ErrnoException;
  return isAccError(error) && OF_ABSENCE.test(error.code) && ABSENT.test(code ?? '');
}

import { inspect, types } from 'node:util';
import { isAccError, programFrames, programStack, showsWholeStack, withoutHelp } from '@acc/contract';

/** The number of causes, and of errors of an AggregateError, that are shown. */
const MOST_CAUSES = 4;
/** The number of characters that show the properties of an error. */
const MOST_PROPERTIES = 200;
const SHOWN_ELSEWHERE = ['name', 'message', 'stack', 'code', 'cause', 'errors', 'help', 'details'];
const FRAME = /^\s+at /;
/** The end of the message of Node.js about a promise that was rejected with a value that is no error. */
const REJECTED_VALUE = /with the reason (".*")\.$/s;
const PLACE = /^\S+:\d+\n/;

/**
 * An error for the screen: its header, its next step, the program's own frames, and of its causes only
 * what is not said yet. The value of a `throw` may be anything.
 */
export function describeError(error: unknown): string {
  if (!isError(error)) return describeValue(inspect(error));
  const rejection = REJECTED_VALUE.exec(String(error.message));
  if (rejection && (error as NodeJS.ErrnoException).code === 'ERR_UNHANDLED_REJECTION')
    return describeValue(rejection[1]!);
  const lines = [...errorLines(error), ...propertyLines(error)];
  const seen = new Set<unknown>([error]);
  const causes = causesOf(error);
  for (let cause = causes.shift(); cause !== undefined && seen.size <= MOST_CAUSES; cause = causes.shift()) {
    if (seen.has(cause)) continue;
    seen.add(cause);
    lines.push(...causeLines(cause, lines));
    causes.push(...causesOf(cause));
  }
  return lines.join('\n');
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

/** The header, which may have several lines, and the program's own frames. */
function errorLines(error: Error): string[] {
  const { name, code } = error as Error & { readonly code?: unknown };
  const message = String(error.message);
  const stack = typeof error.stack === 'string' ? error.stack : '';
  // The message may have been changed since the stack was written.
  const header = stack.includes(message) ? stack : `${name}: ${message}`;
  const frames = header === stack ? [] : stack.split('\n').filter((line) => FRAME.test(line));
  const whole = programStack([header, ...frames].join('\n'), message);
  // An error of the parser begins with its place, and has frames of Node.js only. Ours say what to do.
  const isPlaced = PLACE.test(whole) || (isAccError(error) && !hasProgramFrames(whole));
  const text = isPlaced ? whole.slice(0, whole.indexOf(message) + message.length) : whole;
  const isCoded = typeof code === 'string' && !text.includes(code);
  const coded = isCoded ? text.replace(/^\w+(?=:)/, `$& [${code}]`) : text;
  // A class that sets no name has the one of Error.
  const kind = name === 'Error' ? error.constructor?.name : name;
  return (typeof kind === 'string' && kind ? coded.replace(/^Error\b/, () => kind) : coded).split('\n');
}

function hasProgramFrames(stack: string): boolean {
  return programFrames(stack.split('\n').filter((line) => FRAME.test(line))).length > 0;
}

/** Properties that an error has besides, such as the status of an answer, in one line. */
function propertyLines(error: Error): string[] {
  if (isAccError(error)) return [];
  const own = Object.entries(error).filter(([name]) => !SHOWN_ELSEWHERE.includes(name));
  if (own.length === 0) return [];
  const limits = { depth: 1, breakLength: Infinity, maxArrayLength: 5, maxStringLength: MOST_PROPERTIES };
  const text = inspect(Object.fromEntries(own), limits).replaceAll('\n', ' ');
  return [`    ${text.length > MOST_PROPERTIES ? `${text.slice(0, MOST_PROPERTIES)}…` : text}`];
}

function causesOf(error: unknown): unknown[] {
  const { cause, errors } = Object(error) as { readonly cause?: unknown; readonly errors?: unknown };
  return [...(Array.isArray(errors) ? (errors as unknown[]) : []), cause].filter((one) => one !== undefined);
}

/** The lines that a cause adds to those before: its header if that is not said yet, and frames of the program. */
function causeLines(cause: unknown, before: readonly string[]): string[] {
  const said = before.filter((line) => !FRAME.test(line)).join('\n');
  if (!isError(cause)) {
    const shown = typeof cause === 'string' ? cause : inspect(cause);
    return said.includes(shown) ? [] : [`caused by: ${shown}`];
  }
  const lines = errorLines(cause);
  const frames = programFrames(lines.filter((line) => FRAME.test(line) && !before.includes(line)));
  const sentence = withoutHelp(String(cause.message));
  if (!said.includes(sentence.replace(/\.$/, ''))) {
    const [first, ...others] = lines.filter((line) => !FRAME.test(line));
    return [`caused by: ${first}`, ...others, ...frames];
  }
  return frames.length > 0 ? ['caused at:', ...frames] : [];
}

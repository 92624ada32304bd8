import { inspect } from 'node:util';
import { isAccError, programFrames, programStack, showsWholeStack } from '@acc/contract';

/** The number of causes, and of errors of an AggregateError, that are shown. */
const MOST_CAUSES = 4;
/** The number of characters that show the properties of an error. */
const MOST_PROPERTIES = 200;
const SHOWN_ELSEWHERE = ['name', 'message', 'stack', 'code', 'cause', 'errors', 'help', 'details'];
const FRAME = /^\s+at /;
const PLACE = /^\S+:\d+\n/;

/**
 * An error for the screen: its header, its next step, the program's own frames, and of its causes only
 * what is not said yet. The value of a `throw` may be anything.
 */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) {
    return `Uncaught ${inspect(error)}\n→ Throw an Error: other values do not keep the line that threw them.`;
  }
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
  if (!(error instanceof Error)) return describeError(error);
  const whole = inspect(error);
  const hidden = isAccError(error) && !showsWholeStack() ? error.details : {};
  return Object.keys(hidden).length === 0
    ? whole
    : `${whole}\ndetails: ${inspect(hidden, { depth: 4, maxArrayLength: null })}`;
}

/** The header, which may have several lines, and the program's own frames. */
function errorLines(error: Error): string[] {
  const { name, message, code } = error as Error & { readonly code?: unknown };
  const stack = typeof error.stack === 'string' ? error.stack : '';
  // The message may have been changed since the stack was written.
  const header = stack.includes(message) ? stack : `${name}: ${message}`;
  const frames = header === stack ? [] : stack.split('\n').filter((line) => FRAME.test(line));
  const whole = programStack([header, ...frames].join('\n'), message);
  // An error of the parser begins with its place, and has frames of Node.js only.
  const text = PLACE.test(whole) ? whole.slice(0, whole.indexOf(message) + message.length) : whole;
  const isCoded = typeof code === 'string' && !text.includes(code);
  return (isCoded ? text.replace(/^\w+(?=:)/, `$& [${code}]`) : text).split('\n');
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
  if (!(cause instanceof Error)) {
    const shown = typeof cause === 'string' ? cause : inspect(cause);
    return said.includes(shown) ? [] : [`caused by: ${shown}`];
  }
  const lines = errorLines(cause);
  const frames = programFrames(lines.filter((line) => FRAME.test(line) && !before.includes(line)));
  const [sentence] = cause.message.split('\n→ ');
  if (!said.includes(sentence!.replace(/\.$/, ''))) {
    const [first, ...others] = lines.filter((line) => !FRAME.test(line));
    return [`caused by: ${first}`, ...others, ...frames];
  }
  return frames.length > 0 ? ['caused at:', ...frames] : [];
}

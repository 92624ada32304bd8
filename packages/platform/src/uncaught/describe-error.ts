import { existsSync, readFileSync } from 'node:fs';
import { inspect, types } from 'node:util';
import {
  isAccError,
  jsonMistake,
  programFrames,
  programStack,
  showsWholeStack,
  withoutHelp,
} from '@acc/contract';
import { describeCompilerError, isOfCompiler } from './compiler-error.js';
import { wrongImport, type WrongImport } from './import-error.js';

/** The number of causes, and of errors of an AggregateError, that are shown. */
const MOST_CAUSES = 4;
/** The number of characters that show the properties of an error. */
const MOST_PROPERTIES = 200;
const SHOWN_ELSEWHERE = ['name', 'message', 'stack', 'code', 'cause', 'errors', 'help', 'details'];
const FRAME = /^\s+at /;
/** The end of the message of Node.js about a promise that was rejected with a value that is no error. */
const REJECTED_VALUE = /with the reason (".*")\.$/s;
const CAUSED_BY = 'caused by: ';
const CAUSED_AT = 'caused at:';
const THROWN_AT = 'thrown at:';
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
  const { head, step, frames: own } = partsOf(error);
  const lines = [...head, ...propertyLines(error)];
  const ofCauses: string[] = [];
  const seen = new Set<unknown>([error]);
  const causes = causesOf(error, step !== undefined);
  for (let next = causes.shift(); next !== undefined && seen.size <= MOST_CAUSES; next = causes.shift()) {
    if (seen.has(next.cause)) continue;
    seen.add(next.cause);
    const added = causeLines(next, [...lines, ...own, ...ofCauses], error);
    lines.push(...added.head);
    ofCauses.push(...added.frames);
    causes.push(...causesOf(next.cause, next.isAdvised || stepOf(next.cause) !== undefined));
  }
  const isLabelled =
    own.length > 0 && ofCauses.length > 0 && lines.some((line) => line.startsWith(CAUSED_BY));
  const frames = isLabelled ? [THROWN_AT, ...own] : own;
  return [...lines, ...(step ?? []), ...frames, ...ofCauses].join('\n');
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
  const json = jsonModule(error);
  if (json) return { head: json.head, step: [json.step], frames: [] };
  const wrong = wrongImport(error);
  return {
    head: wrong ? headOfImport(head, wrong) : head.split('\n'),
    step: (step ?? wrong?.step ?? moduleStep(text, error) ?? scopeStep(error))?.split('\n'),
    frames: wrong && !hasProgramFrames(rest) ? [wrong.frame] : frames,
  };
}

/** The header of Node.js may begin with the place of the import, which comes below it here. */
function headOfImport(head: string, { importer, source, excerpt }: WrongImport): string[] {
  const placed = excerpt.length > 0 && PLACED.test(head);
  const whole = placed ? head.slice(Math.max(0, head.search(/^\w*Error\b/m))) : head;
  // Node.js then shows an import that works, although the name may only be misspelt.
  const header = whole.replace(/(is a CommonJS module), which may not support[^]*$/, '$1.');
  return [...header.replace(importer, source).split('\n'), ...excerpt];
}

/** The next step if a file with the syntax of ES modules is none. */
function moduleStep(text: string, { name, message }: Error): string | undefined {
  const [, file] = PLACED.exec(text) ?? [];
  if (name !== 'SyntaxError' || !OF_MODULES.test(message) || !file || file.includes('node_modules'))
    return undefined;
  const typed = file.endsWith('.cjs') ? '' : 'set "type": "module" in its package.json, or ';
  return `→ A file with import, export or await outside of a function must be an ES module: ${typed}rename it to .mjs`;
}

const GLOBAL_OF_COMMONJS = /^(require|module|exports|__filename|__dirname) is not defined/;

/** The next step if an ES module uses what only CommonJS modules have. */
function scopeStep({ name, message }: Error): string | undefined {
  const [, word] = GLOBAL_OF_COMMONJS.exec(message) ?? [];
  if (name !== 'ReferenceError' || word === undefined) return undefined;
  if (word === 'require')
    return "→ An ES module has no require. Write import … from '…', or: import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
  if (word.startsWith('__')) return `→ Write import.meta.${word.slice(2)} in an ES module.`;
  return '→ Write export in place of module.exports, or rename the file to .cjs: then it is no ES module.';
}

/** `/data.json: Unexpected token` of a JSON file that is imported. */
const OF_JSON = /^(.+?\.json): ([^]*)$/;

/** The header, and the place of a mistake in a JSON file. Undefined if the error is another one. */
function jsonModule({ name, message }: Error): { head: string[]; step: string } | undefined {
  const [, file, said] = OF_JSON.exec(message) ?? [];
  if (name !== 'SyntaxError' || file === undefined || !existsSync(file)) return undefined;
  const { problem, help } = jsonMistake(readFileSync(file, 'utf8'), new SyntaxError(said));
  return { head: `${name}: ${file} is not valid JSON: ${problem}`.split('\n'), step: `→ ${help}` };
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

/** The lines that a cause adds to those before. */
interface Added {
  /** Its header, if that is not said yet. */
  readonly head: readonly string[];
  /** Frames of the program below a label. */
  readonly frames: readonly string[];
}

function causeLines({ cause, isAdvised }: Cause, before: readonly string[], error: Error): Added {
  const said = asOneLine(before.filter((line) => !FRAME.test(line)).join('\n'));
  if (!isError(cause)) {
    const shown = typeof cause === 'string' ? cause : inspect(cause);
    return { head: said.includes(asOneLine(shown)) ? [] : [CAUSED_BY + shown], frames: [] };
  }
  const { head, step = [], frames: all } = partsOf(cause);
  const known = new Set(before.map(lineOfFrame));
  const own = programFrames(all.filter((line) => FRAME.test(line) && !known.has(lineOfFrame(line))));
  const frames = own.length > 0 ? [CAUSED_AT, ...own] : [];
  // Others name the file in another way, but say why it could not be read in the same.
  const message = asOneLine(withoutHelp(String(cause.message)));
  const reason = message.replace(/\.$/, '').split(' failed: ').at(-1)!;
  if (includesWords(said, reason) || isOfAbsence(error, cause)) return { head: [], frames };
  const [first, ...others] = head;
  return { head: [CAUSED_BY + first!, ...others, ...(isAdvised ? [] : step)], frames };
}

/** Whether a text has these words, and not only as a part of others. */
function includesWords(text: string, words: string): boolean {
  if (words === '') return true;
  // A message may be too long for a regular expression.
  for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + 1)) {
    const [before = '', after = ''] = [text[at - 1], text[at + words.length]];
    if (!/\w/.test(before) && !/\w/.test(after)) return true;
  }
  return false;
}

/** Messages that say the same may be broken into lines at other places. */
const asOneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** The file and the line of a frame, without the function and the column. */
function lineOfFrame(frame: string): string {
  return /[^\s(]+:\d+(?=:\d+\)?$)/.exec(frame)?.[0] ?? frame;
}

/** Whether an error of ours says that something is missing, and the cause is that it is not there. */
function isOfAbsence(error: Error, cause: Error): boolean {
  const { code } = cause as NodeJS.ErrnoException;
  return isAccError(error) && OF_ABSENCE.test(error.code) && ABSENT.test(code ?? '');
}

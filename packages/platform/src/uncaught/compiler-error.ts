import { existsSync, readFileSync } from 'node:fs';
import { excerptOf } from './excerpt.js';

/** The header of an error of esbuild, with which tsx compiles TypeScript. */
const FAILED = /^(?:Transform|Build) failed with \d+ errors?:/;
const MISTAKE = /^(.+):(\d+):(\d+): (ERROR: .*)$/;
/** tsx compiles a file with one of these extensions under the name of a `.ts` file. */
const EXTENSIONS = ['.mts', '.cts', '.tsx'];
/** The number of mistakes that are shown with their line. */
const MOST_LINES = 3;

/**
 * Whether the error is one of esbuild. Its message has the places, and its frames are all of esbuild. An
 * error from the thread of a loader has kept its name and message only.
 */
export function isOfCompiler({ name, message, errors }: Error & { readonly errors?: unknown }): boolean {
  return name === 'TransformError' && (Array.isArray(errors) || FAILED.test(message));
}

/** The error with the line of each mistake, a caret, and the next step. */
export function describeCompilerError({ name, message }: Error): string {
  const lines = message.split('\n');
  const shown = lines.flatMap((line, i) => describeMistake(line, i <= MOST_LINES));
  // The launcher says what to do about a module of the wrong kind.
  const step = message.includes('Top-level await')
    ? []
    : ['→ Correct what is named above: the file cannot be compiled.'];
  return [`${name}: ${shown[0]}`, ...shown.slice(1), ...step].join('\n');
}

function describeMistake(text: string, hasLine: boolean): string[] {
  const [, named, line, column, what] = MISTAKE.exec(text) ?? [];
  if (named === undefined) return [text];
  const file = fileOf(named);
  const source = hasLine ? lineOf(file, Number(line)) : undefined;
  if (source === undefined) return [`${file}:${line}:${column}: ${what}`];
  // esbuild counts bytes from 0.
  const before = Buffer.from(source).subarray(0, Number(column)).toString();
  return [`${file}:${line}:${before.length + 1}: ${what}`, ...excerptOf(source, before.length)];
}

/** The file that tsx has compiled under this name. */
function fileOf(named: string): string {
  const others = EXTENSIONS.map((extension) => named.replace(/\.ts$/, extension));
  const files = [named, ...others].filter((path) => existsSync(path));
  return files.find((path) => path === process.argv[1]) ?? files[0] ?? named;
}

function lineOf(file: string, line: number): string | undefined {
  try {
    return readFileSync(file, 'utf8').split('\n')[line - 1];
  } catch {
    // The error itself must be shown, whatever has become of the file.
    return undefined;
  }
}

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { modulesOf } from './program-modules.js';

/** Modules that this file can parse: Node.js compiles TypeScript first, and CommonJS is no module. */
const PARSED = /\.m?js$/;

/** Prints which of the given modules have an error, without running them. The errors have no line. */
const PARSE = `
import { readFileSync } from 'node:fs';
import { SourceTextModule } from 'node:vm';
for (const url of JSON.parse(readFileSync(0, 'utf8'))) {
  try {
    new SourceTextModule(readFileSync(new URL(url), 'utf8'));
  } catch ({ message }) {
    console.log(JSON.stringify({ url, message }));
  }
}`;
const FLAGS = ['--no-warnings', '--experimental-vm-modules', '--input-type=module', '--eval', PARSE];

interface Found {
  readonly url: string;
  readonly message: string;
}

/** Errors of V8's parser about an ES module know their line only where Node.js itself prints them. */
export function isWithoutPlace(error: unknown): error is SyntaxError {
  return (
    error instanceof SyntaxError && /^SyntaxError: .*\n\s+at compileSourceTextModule/.test(error.stack ?? '')
  );
}

/**
 * The error with its file, its line and a caret, as Node.js prints it. Undefined if no module that the program
 * imports by a relative path has it, or if that cannot be found out.
 *
 * @param program The path of the program. Undefined: the process has none.
 */
export function placedParserError(error: SyntaxError, program: string | undefined): string | undefined {
  try {
    return program === undefined ? undefined : withPlace(error, program);
  } catch {
    // The error itself must be shown, whatever files and processes do.
    return undefined;
  }
}

function withPlace({ name, message }: SyntaxError, program: string): string | undefined {
  const input = JSON.stringify(modulesOf(program).filter((url) => PARSED.test(new URL(url).pathname)));
  const { stdout } = spawnSync(process.execPath, FLAGS, { encoding: 'utf8', input });
  const found = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Found);
  const url = found.find((one) => one.message === message)?.url;
  if (url === undefined) return undefined;
  const { stderr } = spawnSync(process.execPath, ['--check', fileURLToPath(url)], { encoding: 'utf8' });
  const header = `${name}: ${message}`;
  const end = stderr.indexOf(header);
  return end > 0 ? stderr.slice(0, end) + header : undefined;
}

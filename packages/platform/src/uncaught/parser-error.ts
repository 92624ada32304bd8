import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Paths of other modules of the program. What is no import does no harm: it must be a file. */
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*(['"])(\.{1,2}\/[^'"\n]+)\1/g;
/** Modules that this file can parse: Node.js compiles TypeScript first, and CommonJS is no module. */
const PARSED = /\.m?js$/;
const MOST_FILES = 500;

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
  const input = JSON.stringify(modulesOf(program));
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

/** The addresses of a program and of all modules that it imports by relative paths. */
function modulesOf(program: string): string[] {
  const urls = new Set([pathToFileURL(program).href]);
  for (const url of urls) {
    for (const [, , path] of readFileSync(fileURLToPath(url), 'utf8').matchAll(IMPORT)) {
      const next = new URL(path!, url);
      if (urls.size < MOST_FILES && isModule(next)) urls.add(next.href);
    }
  }
  return [...urls].filter((url) => PARSED.test(new URL(url).pathname));
}

function isModule(url: URL): boolean {
  return PARSED.test(url.pathname) && statSync(url, { throwIfNoEntry: false })?.isFile() === true;
}

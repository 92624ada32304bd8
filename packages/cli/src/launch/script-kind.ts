import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { basename, dirname, extname, parse } from 'node:path';
import { compileFunction } from 'node:vm';
import { AccError } from '@acc/contract';

/** The extensions of programs that ranks run. */
const PROGRAM = /^\.(?:[cm]?[jt]s|tsx)$/;

const LANGUAGES: Readonly<Record<string, string>> = {
  '.py': 'Python',
  '.pyw': 'Python',
  '.rb': 'Ruby',
  '.pl': 'Perl',
  '.lua': 'Lua',
  '.jl': 'Julia',
  '.r': 'R',
  '.sh': 'shell',
  '.bash': 'shell',
  '.zsh': 'shell',
  '.ps1': 'PowerShell',
  '.bat': 'batch',
  '.go': 'Go',
  '.rs': 'Rust',
  '.c': 'C',
  '.cc': 'C++',
  '.cpp': 'C++',
  '.java': 'Java',
};

/** Files that a parser of JavaScript may take for a program, and that are none. */
const DATA = new Set(
  '.json .jsonc .json5 .jsonl .ndjson .yaml .yml .toml .ini .env .xml .txt .md .markdown .rst .log .csv .tsv .html .htm .css .svg .ipynb .wasm'.split(
    ' ',
  ),
);
const SETTINGS = new Set(['.yaml', '.yml']);

/**
 * Refuses a file that is no program of JavaScript or TypeScript. Of an extension that nothing is known of,
 * the text decides.
 *
 * @param script As it was given.
 * @param path Its absolute path.
 * @throws AccError `ACC_SCRIPT_KIND`.
 */
export function requireProgram(script: string, path: string): void {
  const extension = extname(path).toLowerCase();
  if (PROGRAM.test(extension)) return;
  const language = LANGUAGES[extension] ?? interpreterOf(path);
  const what = language ? `a program in ${language}` : otherKind(path, extension);
  if (what === undefined) return;
  throw new AccError('ACC_SCRIPT_KIND', `'${script}' is ${what}.`, {
    help: stepFor(script, path, { what, language }),
    details: { path },
  });
}

const BINARY = 'no program of JavaScript or TypeScript, but a binary file';

/** The kind of a file that is no program. Undefined: it may be one. */
function otherKind(path: string, extension: string): string | undefined {
  if (DATA.has(extension)) return `no program, but a file of the kind ${extension}`;
  const text = readFileSync(path, 'latin1');
  if (text.includes('\0')) return BINARY;
  // Node.js runs a file without an extension as the module that it is.
  if (extension === '') return undefined;
  try {
    compileFunction(readFileSync(path, 'utf8').replace(/^#!.*/, ''));
    return undefined;
  } catch (error) {
    return `read as CommonJS, because its extension is ${extension}, and has a mistake: ${(error as Error).message}`;
  }
}

/** The program that the first line of a file names, unless it runs JavaScript. */
function interpreterOf(path: string): string | undefined {
  const [, first, second = ''] = /^#!\s*(\S+)(?:[ \t]+(?:-S[ \t]+)?(\S+))?/.exec(beginningOf(path)) ?? [];
  if (first === undefined) return undefined;
  const name = basename(basename(first) === 'env' ? second : first);
  return /^(?:node|nodejs|tsx|ts-node|bun|deno|acc)$/.test(name) ? undefined : name;
}

const BEGINNING = 256;

function beginningOf(path: string): string {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(BEGINNING);
    return bytes.toString('utf8', 0, readSync(file, bytes));
  } finally {
    closeSync(file);
  }
}

interface Found {
  readonly what: string;
  readonly language: string | undefined;
}

function stepFor(script: string, path: string, { what, language }: Found): string {
  const { name } = parse(path);
  const program = readdirSync(dirname(path)).find(
    (other) => parse(other).name === name && PROGRAM.test(extname(other)),
  );
  if (program !== undefined) return `Did you mean '${script.slice(0, -basename(path).length)}${program}'?`;
  const extension = extname(path).toLowerCase();
  if (/^python/i.test(language ?? ''))
    return 'This launches JavaScript and TypeScript: name a program such as train.ts. Python has torchrun and accelerate launch.';
  if (SETTINGS.has(extension))
    return `Give a config file as an option: npx acc launch --config-file ${script} train.ts`;
  if (extension === '.jsx') return 'Rename it to .tsx: programs with JSX are compiled by that name.';
  if (language === undefined && what !== BINARY && !DATA.has(extension))
    return 'If it is JavaScript or TypeScript, rename it to .mjs or .ts.';
  if (extension === '.html' || extension === '.htm')
    return 'A page trains in a browser. This launches JavaScript and TypeScript, such as train.ts.';
  return `This launches JavaScript and TypeScript. Name the program first: npx acc launch train.ts ${language ? '' : script}`.trimEnd();
}

import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, parse, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AccError, nearestName } from '@acc/contract';
import { scriptArguments } from '@acc/transpile';
import { requireProgram } from './script-kind.js';

/**
 * The newest Node.js version known to accept {@link V8_OPTIONS}. Node.js does not start with an
 * unknown option.
 */
const NEWEST_NODE = 26;

/**
 * A pause of one rank delays all ranks. If lists that a step creates survive a garbage collection,
 * V8 allocates such lists as long-lived objects. Each of them then keeps the tensors of its step
 * alive until a full collection. The helper threads of V8 compete with other ranks for their cores.
 */
const V8_OPTIONS = ['--no-allocation-site-pretenuring', '--no-parallel-scavenge'];

/** The built module by which a rank reports the error that ends it. */
const REPORT_ERRORS = import.meta.url.replace(/^(.*)\/(?:src|dist)\/.*$/, '$1/dist/launch/report-errors.js');

const REPORTING = `--import=${REPORT_ERRORS}`;

/**
 * The extensions that Node.js knows after `--import`, which loads the script as a module. Without the
 * option, it runs a file with any other extension as CommonJS.
 */
const KNOWN_EXTENSION = /^(?:\.[cm]?[jt]s|\.tsx)?$/;

/** A program and its arguments. */
export type Program = readonly [program: string, ...args: string[]];

/**
 * How Node.js runs a script as a rank: this Node.js with options, the script, and its arguments.
 * TypeScript is transpiled here if possible.
 */
export async function nodeProgram(script: string, args: readonly string[]): Promise<Program> {
  return [process.execPath, ...nodeOptions(script), ...(await scriptArguments(script)), ...args];
}

/** The options of Node.js itself in a rank that runs a script. */
export function nodeOptions(script: string): readonly string[] {
  const options = parseInt(process.versions.node) <= NEWEST_NODE ? V8_OPTIONS : [];
  return KNOWN_EXTENSION.test(extname(script)) ? [...options, REPORTING] : options;
}

/** Whether a rank reports the error that ends it. */
export function reportsErrors(program: Program): boolean {
  return program.includes(REPORTING);
}

/**
 * The absolute path of a script.
 *
 * @throws AccError `ACC_SCRIPT_NOT_FOUND` with the most similar file; `ACC_SCRIPT_NOT_FILE`,
 * `ACC_SCRIPT_KIND`.
 */
export function resolveScript(script: string, cwd: string): string {
  const path = resolve(cwd, script);
  let isFile: boolean;
  try {
    isFile = statSync(path).isFile();
  } catch (cause) {
    throw notFound(script, path, cwd, cause);
  }
  if (isFile) {
    requireProgram(script, path);
    return path;
  }
  throw new AccError('ACC_SCRIPT_NOT_FILE', `'${script}' is not a file.`, {
    help: 'Name the script itself: npx acc launch train.ts',
    details: { path },
  });
}

/** Prints the address of a module, as an `import` in a file of the working directory finds it. */
const RESOLVE = 'process.stdout.write(import.meta.resolve(process.argv[1]))';

/**
 * The absolute path of the file of a module.
 *
 * @param name As in an `import`: `my-package/train`.
 * @throws AccError `ACC_SCRIPT_NOT_FOUND`, `ACC_SCRIPT_NOT_FILE`, `ACC_SCRIPT_KIND`.
 */
export function resolveModule(name: string, cwd: string): string {
  // Only an ES module in the folder resolves names as that folder's programs do.
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', RESOLVE, name],
    {
      cwd,
      encoding: 'utf8',
    },
  );
  if (status === 0 && stdout.startsWith('file:')) return resolveScript(fileURLToPath(stdout), cwd);
  const said = /^(?:Type)?Error[^:]*: (.*)$/m.exec(stderr)?.[1] ?? `it is ${stdout || 'unknown'}`;
  // Node.js names the text that asked, which is no file.
  const reason = said.replace(/ imported from .*\[eval\d*\]$/, ` in ${cwd}`).replace(/\.$/, '');
  throw new AccError('ACC_SCRIPT_NOT_FOUND', `The module '${name}' was not found: ${reason}.`, {
    help: reason.includes('is not defined by "exports"')
      ? 'Name a module that the package exports: its package.json lists them below "exports".'
      : 'Install the package in this folder, or leave out --module if it is the path of a file.',
    details: { module: name },
  });
}

function notFound(script: string, path: string, cwd: string, cause: unknown): AccError {
  const nearest = nearestFile(path);
  return new AccError('ACC_SCRIPT_NOT_FOUND', `The script '${script}' does not exist (${path}).`, {
    help: nearest ? `Did you mean '${relative(cwd, nearest)}'?` : 'Check the path and the working directory.',
    details: { path, nearest },
    cause,
  });
}

/**
 * The most similar file in the folder of a missing one. A file that differs only in its extension
 * comes first.
 */
function nearestFile(path: string): string | undefined {
  const folder = dirname(path);
  let names: string[];
  try {
    names = readdirSync(folder, { withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map(({ name }) => name);
  } catch {
    // The folder does not exist or cannot be read, so there is no suggestion.
    return undefined;
  }
  const name =
    names.find((other) => parse(other).name === parse(path).name) ?? nearestName(basename(path), names);
  return name && join(folder, name);
}

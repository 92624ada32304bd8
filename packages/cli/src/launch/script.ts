import { readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, parse, relative, resolve } from 'node:path';
import { AccError, nearestName } from '@acc/contract';
import { scriptArguments } from '@acc/transpile';

/** The newest Node.js that was seen to know {@link V8_OPTIONS}; one that doesn't know an option does not start. */
const NEWEST_NODE = 25;

/**
 * Every pause of one rank is a pause of all. V8 takes lists that a step makes, when they outlive a collection, for
 * long-lived ones, and each then keeps its step's tensors until a full collection; and its helper threads compete with
 * the other ranks for their cores.
 */
const V8_OPTIONS = ['--no-allocation-site-pretenuring', '--no-parallel-scavenge'];

/** What `node` is given to run a script. TypeScript is transpiled here, where that can be. */
export async function nodeArguments(script: string, args: readonly string[]): Promise<string[]> {
  const options = parseInt(process.versions.node) <= NEWEST_NODE ? V8_OPTIONS : [];
  return [...options, ...(await scriptArguments(script)), ...args];
}

/**
 * The absolute path of a script.
 *
 * @throws AccError `ACC_SCRIPT_NOT_FOUND`, naming the nearest file there; `ACC_SCRIPT_NOT_FILE`.
 */
export function resolveScript(script: string, cwd: string): string {
  const path = resolve(cwd, script);
  let isFile: boolean;
  try {
    isFile = statSync(path).isFile();
  } catch (cause) {
    throw notFound(script, path, cwd, cause);
  }
  if (isFile) return path;
  throw new AccError('ACC_SCRIPT_NOT_FILE', `'${script}' is not a file.`, {
    help: 'Name the script itself: acc launch train.ts',
    details: { path },
  });
}

function notFound(script: string, path: string, cwd: string, cause: unknown): AccError {
  const nearest = nearestFile(path);
  return new AccError('ACC_SCRIPT_NOT_FOUND', `No such script: '${script}' (${path}).`, {
    help: nearest ? `Did you mean '${relative(cwd, nearest)}'?` : 'Check the path and the working directory.',
    details: { path, nearest },
    cause,
  });
}

/** The file beside a missing one that was most likely meant; one that differs only in its extension before others. */
function nearestFile(path: string): string | undefined {
  const folder = dirname(path);
  let names: string[];
  try {
    names = readdirSync(folder, { withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map(({ name }) => name);
  } catch {
    // The folder isn't there either, or can't be read: nothing to suggest.
    return undefined;
  }
  const name =
    names.find((other) => parse(other).name === parse(path).name) ?? nearestName(basename(path), names);
  return name && join(folder, name);
}

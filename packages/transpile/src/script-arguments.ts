import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { recallProgram } from './remembered.js';

const TYPESCRIPT = /\.[mc]?tsx?$/;

/**
 * Returns the arguments with which `node` runs a script, up to and including the script.
 *
 * JavaScript runs unchanged. A TypeScript program is transpiled once for all processes, which load
 * the result from `node_modules/.cache/acc`. tsx runs a program that needs a loader at run time;
 * see `transpileProgram`.
 *
 * @param script The absolute path of the program.
 * @param cwd The working directory of its processes. tsconfig.json is searched there and above.
 */
export async function scriptArguments(
  script: string,
  cwd: string = process.cwd(),
): Promise<readonly string[]> {
  if (!TYPESCRIPT.test(script)) return [script];
  const transpiled = recallProgram(script, cwd) ?? (await transpile(script, cwd));
  return transpiled ? ['--enable-source-maps', transpiled] : tsxArguments(script);
}

async function transpile(script: string, cwd: string): Promise<string | undefined> {
  // Imported only if needed, because esbuild takes a while to load.
  const { transpileProgram } = await import('./transpile-program.js');
  return transpileProgram(script, cwd);
}

/**
 * Like {@link scriptArguments}, but always with tsx, which also transpiles TypeScript in packages
 * under the conditions of the process.
 */
export function tsxArguments(script: string): readonly string[] {
  return [...tsxOptions(script), script];
}

/** The options with which `node` loads a file by tsx. None if the file is not TypeScript. */
export function tsxOptions(path: string): readonly string[] {
  return TYPESCRIPT.test(path) ? ['--import', tsxUrl()] : [];
}

/** The URL of tsx among this package's dependencies, wherever the script is. */
function tsxUrl(): string {
  return pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
}

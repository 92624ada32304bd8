import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { recallProgram } from './remembered.js';

const TYPESCRIPT = /\.[mc]?tsx?$/;

/**
 * Returns what `node` is given to run a script, up to the script itself.
 *
 * JavaScript runs as it is. A TypeScript program is transpiled here, once for all processes that run it, and these load
 * the result from `node_modules/.cache/acc`. A program that needs a loader while it runs is run by tsx; see
 * `transpileProgram`.
 *
 * @param script The absolute path of the program.
 * @param cwd The working directory of its processes: tsconfig.json is looked for there and above.
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
  // Only where it is needed: esbuild takes a while to load.
  const { transpileProgram } = await import('./transpile-program.js');
  return transpileProgram(script, cwd);
}

/** As {@link scriptArguments}, always by tsx: it also transpiles what packages hold, by the conditions of the process. */
export function tsxArguments(script: string): readonly string[] {
  return TYPESCRIPT.test(script) ? ['--import', tsxUrl(), script] : [script];
}

/** tsx of this package's dependencies, wherever the script lies. */
function tsxUrl(): string {
  return pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
}

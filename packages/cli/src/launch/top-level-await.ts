import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The message of esbuild, which tsx prints. */
const ERROR = 'Top-level await is currently not supported with the "cjs" output format';
const STATEMENT = /^(?:await\b|for await\b|(?:export )?(?:const|let|var) [^=;]*= await\b)/m;

export const TOP_LEVEL_AWAIT_HELP =
  '→ A program with a top-level await must be an ES module: set "type": "module" in its package.json, or rename it to .mts';

/**
 * Whether a script failed because it has a top-level await but is a CommonJS module, which is the
 * default for TypeScript.
 *
 * @param stderrTail Empty if the rank wrote to the terminal itself. Then the script is checked
 * instead.
 */
export function failedByTopLevelAwait(script: string, stderrTail: readonly string[]): boolean {
  if (stderrTail.length > 0) return stderrTail.some((line) => line.includes(ERROR));
  return isCommonJsTypeScript(script) && existsSync(script) && STATEMENT.test(readFileSync(script, 'utf8'));
}

function isCommonJsTypeScript(script: string): boolean {
  if (!/\.c?tsx?$/.test(script)) return false;
  return script.endsWith('.cts') || !isInModulePackage(dirname(script));
}

/** Whether the nearest package.json says that the files of the folder are ES modules. */
function isInModulePackage(folder: string): boolean {
  const path = join(folder, 'package.json');
  if (existsSync(path)) return /"type"\s*:\s*"module"/.test(readFileSync(path, 'utf8'));
  const parent = dirname(folder);
  return parent !== folder && isInModulePackage(parent);
}

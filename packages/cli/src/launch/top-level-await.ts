import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** esbuild's words, through tsx. */
const ERROR = 'Top-level await is currently not supported with the "cjs" output format';
const STATEMENT = /^(?:await\b|for await\b|(?:export )?(?:const|let|var) [^=;]*= await\b)/m;

export const TOP_LEVEL_AWAIT_HELP =
  '→ A program with await at its top level is an ES module: set "type": "module" in its package.json, or let its name end in .mts';

/**
 * Whether a script failed for having an await at its top level while it is CommonJS, as TypeScript is by default.
 *
 * @param stderrTail Empty where the rank wrote to the terminal itself: then the script is looked at.
 */
export function failedByTopLevelAwait(script: string, stderrTail: readonly string[]): boolean {
  if (stderrTail.length > 0) return stderrTail.some((line) => line.includes(ERROR));
  return isCommonJsTypeScript(script) && existsSync(script) && STATEMENT.test(readFileSync(script, 'utf8'));
}

function isCommonJsTypeScript(script: string): boolean {
  if (!/\.c?tsx?$/.test(script)) return false;
  return script.endsWith('.cts') || !isInModulePackage(dirname(script));
}

/** By the nearest package.json. */
function isInModulePackage(folder: string): boolean {
  const path = join(folder, 'package.json');
  if (existsSync(path)) return /"type"\s*:\s*"module"/.test(readFileSync(path, 'utf8'));
  const parent = dirname(folder);
  return parent !== folder && isInModulePackage(parent);
}

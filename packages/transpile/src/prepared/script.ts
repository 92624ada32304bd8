import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename } from 'node:path';
import type { CodeCache } from './code-cache.js';
import { CommonJsModule } from './commonjs-module.js';
import { readOwn } from './own-files.js';
import { IMPORT, mapOf, REQUIRE, scriptOf, type PreparedSet } from './set.js';

export type Exports = Record<string, unknown>;

/** What the script of prepared packages exports. */
export interface Script {
  /** Evaluates a module, by its URL. */
  readonly modules: Readonly<Record<string, () => Exports>>;
  /** The URLs that `import()` in these modules means, by the URL of the module and the name in it. */
  readonly late: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** The export names of all modules, by URL. */
  names(): Readonly<Record<string, readonly string[]>>;
}

export type Import = (parent: string, specifier: string, options?: ImportCallOptions) => Promise<unknown>;

/** Undefined if the script is missing, damaged, or may be somebody else's. */
export function loadScript(set: PreparedSet, code: CodeCache, importFrom: Import): Script | undefined {
  const path = scriptOf(set.folder);
  if (!set.script) return undefined;
  const source = readOwn(path, set.script);
  if (!source) {
    removeDamaged(path);
    return undefined;
  }
  announceMap(path);
  const module = { exports: {} as Script };
  // It has ASCII characters only.
  const body = source.toString('latin1');
  const version = set.script.sha256;
  const run = code.compile({ name: path, version }, body, `module, exports, ${REQUIRE}, ${IMPORT}`);
  run(module, module.exports, createRequire(path), importFrom);
  return module.exports;
}

/** The next launcher then writes it again. */
function removeDamaged(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The cache is not writable.
  }
}

/** Node.js reads source maps only of modules, and finds them by the name of the file. */
function announceMap(path: string): void {
  process.setSourceMapsEnabled(true);
  new CommonJsModule(path)._compile(`//# sourceMappingURL=${basename(mapOf(path))}`, path);
  process.setSourceMapsEnabled(false);
}

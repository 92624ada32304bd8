import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { cachedDataVersionTag } from 'node:v8';
import { CodeCache } from './code-cache.js';
import { compileLargeCommonJs, requirePrepared } from './commonjs-code.js';
import { importFrom, openToImports } from './late-imports.js';
import { loadScript, type Exports, type Script } from './script.js';
import type { PreparedSet } from './set.js';

/** How long a process runs until it records what was compiled, in milliseconds. */
const RECORDED_AFTER_MS = 10_000;

let script: Script | undefined;
let loader = '';

/** Uses prepared packages in this process. Called before any package is loaded. Later
 * calls do nothing. */
export function startPrepared(set: PreparedSet): void {
  if (loader !== '') return;
  const code = new CodeCache(join(set.folder, `code-${cachedDataVersionTag().toString(16)}.bin`));
  ({ loader } = set);
  script = loadScript(set, code, importLate);
  compileLargeCommonJs(code, beforeImports);
  if (script) requirePrepared((path) => script!.modules[pathToFileURL(path).href]?.());
  recordOnce(code);
}

/**
 * The exports of a prepared module.
 *
 * @param url Its URL.
 * @param name What the program imports.
 * @param importer Loads the package as an import does if it is not prepared after all.
 */
export function exportsOf(url: string, name?: string, importer?: ImportMeta): Exports {
  const module = script?.modules[url];
  if (module) return module();
  const path = fileURLToPath(importer!.resolve(name!));
  return createRequire(path)(path) as Exports;
}

function beforeImports(): void {
  if (script) openToImports(script, loader);
}

function importLate(parent: string, specifier: string, options?: ImportCallOptions): Promise<unknown> {
  const url = script?.late[parent]?.[specifier];
  if (url !== undefined) return Promise.resolve().then(() => exportsOf(url));
  beforeImports();
  return importFrom(fileURLToPath(parent))(specifier, options);
}

/** Records at the end, or earlier, because a process that is killed has no end. */
function recordOnce(code: CodeCache): void {
  const timer = setTimeout(record, RECORDED_AFTER_MS).unref();
  process.once('exit', onExit);

  function onExit(exitCode: number): void {
    if (exitCode === 0) record();
  }
  function record(): void {
    clearTimeout(timer);
    process.off('exit', onExit);
    code.record();
  }
}

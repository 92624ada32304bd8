import { statSync } from 'node:fs';
import { dirname, extname } from 'node:path';
import type { CodeCache } from './code-cache.js';
import { CommonJsModule, type CommonJs } from './commonjs-module.js';

/** Smaller files cost Node.js almost no time. */
export const LARGE_BYTES = 2 ** 17;

/** Not a method of this name. */
const IMPORTS = /(?<![.\w$])import\s*\(/;
const PARAMETERS = 'exports, require, module, __filename, __dirname';

/**
 * Compiles large CommonJS modules, such as those of tfjs, with the code that V8 made of them earlier.
 *
 * @param beforeImports Called before a module is evaluated that may call `import()`.
 */
export function compileLargeCommonJs(code: CodeCache, beforeImports: () => void): void {
  const { prototype } = CommonJsModule;
  const { _compile: compile } = prototype;
  prototype._compile = function (this: CommonJs, content, filename, ...rest) {
    const imports = mayImport(content);
    if (imports) beforeImports();
    const isScript = (rest[0] ?? 'commonjs') === 'commonjs' && ['.js', '.cjs'].includes(extname(filename));
    const isKept = content.length >= LARGE_BYTES && isScript && !imports;
    const run = isKept ? compiled(code, filename, content) : undefined;
    if (!run) return compile.call(this, content, filename, ...rest);
    return run.call(this.exports, this.exports, requireOf(this), this, filename, dirname(filename));
  };
}

/** V8 finds texts of this length much faster than the pattern. */
const mayImport = (content: string): boolean =>
  (content.includes('import(') || content.includes('import (')) && IMPORTS.test(content);

/** Undefined if it has an error, which Node.js then reports, or is an ES module. */
function compiled(code: CodeCache, filename: string, content: string) {
  try {
    const { size, ino, mtimeMs } = statSync(filename);
    return code.compile({ name: filename, version: `${size} ${ino} ${mtimeMs}` }, content, PARAMETERS);
  } catch {
    return undefined;
  }
}

function requireOf(module: CommonJs): unknown {
  const resolve = (name: string, options?: object): string =>
    CommonJsModule._resolveFilename(name, module, false, options);
  const paths = (name: string): unknown => CommonJsModule._resolveLookupPaths(name, module);
  return Object.assign((name: string): unknown => module.require(name), {
    resolve: Object.assign(resolve, { paths }),
    main: process.mainModule,
    extensions: CommonJsModule._extensions,
    cache: CommonJsModule._cache,
  });
}

/** Lets `require` return modules that are prepared, by their path. */
export function requirePrepared(exportsAt: (path: string) => unknown): void {
  const { _extensions: extensions } = CommonJsModule;
  for (const extension of ['.js', '.mjs']) {
    const load = extensions[extension];
    if (!load) continue;
    extensions[extension] = (module, filename) => {
      const exports = exportsAt(filename);
      if (exports === undefined) load(module, filename);
      else module.exports = exports;
    };
  }
}

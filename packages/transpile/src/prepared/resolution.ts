import { existsSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { OnLoadResult, OnResolveArgs, OnResolveResult, Plugin, PluginBuild } from 'esbuild';
import { init, parse } from 'es-module-lexer';
import { commonJsNames } from '../commonjs-packages.js';
import { nearestPackage, placesUpwards } from '../nearest.js';
import { facadeOf } from './facade.js';
import { IMPORT, REQUIRE } from './set.js';

/** The conditions of Node.js for `import`, besides those that esbuild has. */
export const CONDITIONS = ['node-addons', 'module-sync'];

/** Names of packages: what npm calls a name, without a path in the package. */
const NAME = /^(@[^/]+\/)?[^/]+/;

export interface Resolution {
  /** The folder from which the names in the entry are resolved. */
  readonly base: string;
  /**
   * Receives the paths of all files that determine the result, including paths at which a file would
   * change it.
   */
  readonly seen: Set<string>;
  /** Whether the calls of `import()` are replaced by calls of {@link IMPORT}. */
  readonly replacesImports: boolean;
}

/**
 * Resolves packages as Node.js does. ES modules become a part of the result. CommonJS modules and
 * those of Node.js remain what Node.js loads: the result contains a module that passes their exports
 * on.
 *
 * @throws Error for modules that can only be loaded by Node.js itself, such as JSON.
 */
export function asNodeResolves(resolution: Resolution): Plugin {
  return {
    name: 'as-node-resolves',
    setup(build) {
      build.onResolve({ filter: /.*/ }, (args) => {
        // The request below comes here, too.
        if (args.pluginData === resolution) return undefined;
        return resolveAs(build, args, resolution);
      });
      build.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => loadBuiltin(path));
      build.onLoad({ filter: /.*/, namespace: 'commonjs' }, ({ path }) =>
        loadCommonJs(path, resolution.seen),
      );
      build.onLoad({ filter: /\.m?js$/, namespace: 'file' }, ({ path }) => loadModule(path, resolution));
    },
  };
}

async function resolveAs(
  build: PluginBuild,
  { path, importer, kind, resolveDir, namespace }: OnResolveArgs,
  resolution: Resolution,
): Promise<OnResolveResult> {
  if (isBuiltin(path)) return { path, namespace: 'builtin', sideEffects: false };
  const isLate = kind === 'dynamic-import';
  // Whoever needs another package late loads it by itself.
  if (isLate && !/^(\.|#|@acc\/)/.test(path)) return { path, external: true };
  const found = await build.resolve(path, {
    importer,
    resolveDir: namespace === 'file' && importer !== '' ? resolveDir : resolution.base,
    // The entry names modules by `require`, so that they are evaluated later.
    kind: kind === 'require-call' ? 'import-statement' : kind,
    pluginData: resolution,
  });
  for (const place of placesOf(path, importer || join(resolution.base, '_'))) resolution.seen.add(place);
  if (found.errors.length > 0) {
    if (isLate) return { path, external: true };
    return { errors: found.errors };
  }
  for (const place of manifestsOf(found.path)) resolution.seen.add(place);
  resolution.seen.add(found.path);
  return isEsModule(found.path) ? { path: found.path } : { path: found.path, namespace: 'commonjs' };
}

function isEsModule(path: string): boolean {
  const extension = extname(path);
  if (extension === '.mjs') return true;
  if (extension === '.cjs') return false;
  if (extension !== '.js') throw new Error(`${path} is no JavaScript.`);
  return nearestPackage(path)?.type === 'module';
}

/** The places in which Node.js looks for a package, up to the one in which it is. */
function placesOf(specifier: string, importer: string): string[] {
  const [name] = NAME.exec(specifier) ?? [];
  if (name === undefined || /^[.#/]/.test(specifier)) return [];
  // Nobody installs packages into a folder of a package's files.
  const from = dirname(manifestsOf(importer).at(-1)!);
  const folders = placesUpwards(from, 'node_modules');
  return upToFirst(folders.map((folder) => join(folder, name, 'package.json')));
}

/** The places in which Node.js looks for the package.json of a file, up to the one in which it is. */
function manifestsOf(path: string): string[] {
  return upToFirst(placesUpwards(dirname(path), 'package.json'));
}

function upToFirst(places: readonly string[]): string[] {
  const index = places.findIndex((place) => existsSync(place));
  return index === -1 ? [...places] : places.slice(0, index + 1);
}

function loadBuiltin(name: string): OnLoadResult {
  const exports = process.getBuiltinModule(name) as object;
  const object = `${REQUIRE}(${JSON.stringify(name)})`;
  return { contents: facadeOf({ object, names: Object.keys(exports), isCommonJs: true }), loader: 'js' };
}

async function loadCommonJs(path: string, seen: Set<string>): Promise<OnLoadResult> {
  const names = await commonJsNames(path, seen);
  if (!names) throw new Error(`${path} is not CommonJS.`);
  const object = `${REQUIRE}(${JSON.stringify(path)})`;
  return { contents: facadeOf({ object, names, isCommonJs: true }), loader: 'js' };
}

async function loadModule(path: string, { replacesImports }: Resolution): Promise<OnLoadResult> {
  const source = readFileSync(path, 'utf8');
  if (!replacesImports || !/\bimport\s*[.(]/.test(source)) return { contents: source, loader: 'js' };
  await init;
  const url = JSON.stringify(pathToFileURL(path).href);
  const parts: string[] = [];
  let end = 0;
  for (const { d: kind, ss: start } of parse(source)[0]) {
    if (kind === -1) continue;
    const isMeta = kind === -2;
    parts.push(source.slice(end, start), isMeta ? metaOf(source, start, path) : `${IMPORT}(${url}, `);
    end = isMeta ? start + META.exec(source.slice(start))![0].length : kind + 1;
  }
  return { contents: parts.join('') + source.slice(end), loader: 'js' };
}

const META = /^import\.meta\.(url|dirname|filename)\b/;

function metaOf(source: string, start: number, path: string): string {
  const [, name] = META.exec(source.slice(start, start + 40)) ?? [];
  if (name === undefined) throw new Error(`${path} uses import.meta.`);
  const values: Record<string, string> = {
    url: pathToFileURL(path).href,
    filename: path,
    dirname: dirname(path),
  };
  return JSON.stringify(values[name]);
}

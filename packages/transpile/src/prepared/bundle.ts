import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build, type BuildOptions, type BuildResult, type Metafile, type Plugin } from 'esbuild';
import { isExported } from './exported.js';
import { withOwnNames } from './own-names.js';
import { asNodeResolves, CONDITIONS } from './resolution.js';

/** ES modules of packages in one script. */
export interface Bundle {
  readonly script: string;
  readonly map: string;
  /** The URL of the module that each name is resolved to. */
  readonly roots: Readonly<Record<string, string>>;
  /** The export names of the modules that can be imported from outside, by URL. */
  readonly names: Names;
}

type Names = Readonly<Record<string, readonly string[]>>;

interface Given {
  /** What programs import. */
  readonly specifiers: readonly string[];
  /** The folder from which these names are resolved. */
  readonly base: string;
  /** See `Resolution`. */
  readonly seen: Set<string>;
}

/**
 * Bundles the ES modules that `specifiers` are resolved to, and all that these import. Each module
 * is evaluated when it is first asked for.
 *
 * @throws Error if a module cannot be a part of a script, for example because it awaits at its top.
 */
export async function bundlePackages(given: Given): Promise<Bundle> {
  const { specifiers, base, seen } = given;
  const plugin = (replacesImports: boolean): Plugin => asNodeResolves({ base, seen, replacesImports });
  const found = await inputsOf(specifiers, base, plugin(false));
  const names = await namesOf(importable(found), plugin(false));
  const { script, map } = await bundleAll({ ...found, names }, plugin(true));
  const roots = Object.entries(found.roots).map(([specifier, path]) => [specifier, urlOf(path)]);
  return { script, map, names, roots: Object.fromEntries(roots) as Bundle['roots'] };
}

interface Found {
  /** The file of each name. Names of CommonJS modules are missing. */
  readonly roots: Readonly<Record<string, string>>;
  /** The files of all ES modules, with those that each imports by `import()`. */
  readonly modules: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

const SHARED = {
  absWorkingDir: '/',
  bundle: true,
  write: false,
  metafile: true,
  platform: 'node',
  conditions: CONDITIONS,
  target: `node${process.versions.node}`,
  logLevel: 'silent',
} satisfies BuildOptions;

const ENTRY = 'packages';
/** Nothing is written. */
const OUT = '/';

async function inputsOf(specifiers: readonly string[], base: string, plugin: Plugin): Promise<Found> {
  const contents = specifiers.map((specifier) => `require(${JSON.stringify(specifier)});`).join('\n');
  const stdin = { contents, resolveDir: base, sourcefile: ENTRY };
  const { metafile } = await build({ ...SHARED, format: 'cjs', stdin, plugins: [plugin] });
  const { entryPoint = '' } = Object.values(metafile.outputs)[0] ?? {};
  const { [entryPoint]: entry, ...inputs } = metafile.inputs;
  const isModule = (name: string): boolean => !/^(commonjs|builtin):/.test(name);
  const modules = Object.entries(inputs).filter(([name]) => isModule(name));
  const roots = entry!.imports.filter(({ path, external }) => !external && isModule(path));
  return {
    roots: Object.fromEntries(roots.map(({ original, path }) => [original!, resolve('/', path)])),
    modules: Object.fromEntries(modules.map(([name, input]) => [resolve('/', name), lateImports(input)])),
  };
}

function lateImports({ imports }: Metafile['inputs'][string]): Record<string, string> {
  const late = imports.filter(({ kind, external }) => kind === 'dynamic-import' && !external);
  return Object.fromEntries(late.map(({ original, path }) => [original!, urlOf(resolve('/', path))]));
}

/** The modules that other modules can import. The others are parts of their packages. */
function importable({ roots, modules }: Found): string[] {
  const late = Object.values(modules).flatMap((imports) =>
    Object.values(imports).map((url) => fileURLToPath(url)),
  );
  const exported = Object.keys(modules).filter(isExported);
  return [...new Set([...Object.values(roots), ...late, ...exported])];
}

async function namesOf(files: readonly string[], plugin: Plugin): Promise<Names> {
  const { metafile } = await build({
    ...SHARED,
    format: 'esm',
    entryPoints: files.map((path, index) => ({ in: path, out: `${index}` })),
    outdir: OUT,
    splitting: true,
    plugins: [plugin],
  });
  const outputs = Object.values(metafile.outputs).filter(({ entryPoint }) => entryPoint !== undefined);
  return Object.fromEntries(
    outputs.map(({ entryPoint, exports }) => [urlOf(resolve('/', entryPoint!)), exports]),
  );
}

async function bundleAll({ modules, names }: Found & { names: Names }, plugin: Plugin) {
  const byUrl = Object.keys(names).map(
    (url) => `${JSON.stringify(url)}: () => require(${JSON.stringify(fileURLToPath(url))})`,
  );
  const late = Object.entries(modules).filter(([, imports]) => Object.keys(imports).length > 0);
  const lateByUrl = Object.fromEntries(late.map(([path, imports]) => [urlOf(path), imports]));
  const contents = [
    `export const modules = {\n${byUrl.join(',\n')}\n};`,
    `export const late = ${JSON.stringify(lateByUrl)};`,
    // Rarely needed, so V8 is not to build the object.
    `export const names = () => JSON.parse(${JSON.stringify(JSON.stringify(names))});`,
  ].join('\n');
  const options = {
    ...SHARED,
    format: 'cjs',
    stdin: { contents, resolveDir: '/', sourcefile: ENTRY },
    outfile: join(OUT, 'script.js'),
    // ES modules are strict.
    banner: { js: '"use strict";' },
    charset: 'ascii',
    plugins: [plugin],
  } satisfies BuildOptions;
  const plain = await build({ ...options, sourcemap: 'external', sourcesContent: false });
  const named = await build({ ...options, keepNames: true });
  const map = JSON.parse(textOf(plain, '.js.map')) as SourceMap;
  return { script: withOwnNames(textOf(plain, '.js'), textOf(named, '.js')), map: quickMap(map) };
}

const textOf = ({ outputFiles = [] }: BuildResult, ending: string): string =>
  outputFiles.find(({ path }) => path.endsWith(ending))!.text;

interface SourceMap {
  readonly sources: readonly string[];
}

/**
 * The map as an index of one section. Node.js resolves the sources of other maps in every process,
 * which takes 10 ms.
 */
function quickMap(map: SourceMap): string {
  const sources = map.sources.map((source) => urlOf(join(OUT, source)));
  const section = { offset: { line: 0, column: 0 }, map: { ...map, sources } };
  return JSON.stringify({ version: 3, sources: [], names: [], mappings: '', sections: [section] });
}

const urlOf = (path: string): string => pathToFileURL(path).href;

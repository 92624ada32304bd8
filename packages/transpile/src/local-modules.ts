import { existsSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, extname, join, resolve } from 'node:path';
import { build, type Metafile } from 'esbuild';
import { nearestNodeModules, nearestPackage, placesUpwards } from './nearest.js';
import type { CompilerOptions } from './tsconfig.js';

/** A module of the program itself, as opposed to a package. */
export interface LocalModule {
  /** Absolute path. */
  readonly path: string;
  /** The local modules that it imports, by specifier. */
  readonly imports: ReadonlyMap<string, string>;
  /** The packages that it imports with static `import` statements. */
  readonly packages: readonly string[];
  readonly tsconfig: CompilerOptions | undefined;
}

const CODE = /\.(ts|mts|tsx|js|mjs|jsx)$/;
const ENDINGS = ['.ts', '.mts', '.cts', '.tsx', '.js', '.mjs', '.cjs', '.jsx'];

/** Node.js modules that start programs with the options of this process, including its loader. */
const NEED_LOADER = /^(node:)?(child_process|cluster|worker_threads)$/;
/** The module with `createRequire`, which loads TypeScript under tsx. */
const MODULE = /^(node:)?module$/;
const RELATIVE_NAME = /['"`]\.\.?\//g;
const OTHER_META = /\bimport\.meta\b(?!\.(url|dirname|filename)\b)/;
const DYNAMIC_IMPORT = /\bimport\s*\(/g;
/** A string that names a TypeScript file: an import, or a file for another program. */
const TYPESCRIPT_NAME = /\.[mc]?tsx?['"`]/g;

/**
 * Finds all local modules that a program imports, starting with the program.
 *
 * @returns Undefined if a module may need tsx while it runs, or if tsx may resolve an import to
 * another file than esbuild does.
 */
export async function findLocalModules(
  script: string,
  tsconfigOf: (path: string) => CompilerOptions | undefined,
): Promise<readonly LocalModule[] | undefined> {
  const inputs = await crawl(script);
  if (!inputs) return undefined;
  const modules = Object.entries(inputs).map(([name, { imports }]): LocalModule => {
    const path = resolve('/', name);
    const local = imports.filter(({ external }) => !external);
    return {
      path,
      packages: imports
        .filter(({ external, kind }) => external && kind === 'import-statement')
        .map(({ path }) => path),
      imports: new Map(local.map((each) => [each.original!, resolve('/', each.path)])),
      tsconfig: tsconfigOf(path),
    };
  });
  const nodeModules = nearestNodeModules(script);
  const isOrdinary = ({ path, imports, tsconfig }: LocalModule): boolean =>
    CODE.test(path) &&
    isEsModule(path) &&
    nearestNodeModules(path) === nodeModules &&
    !tsconfig?.paths &&
    !tsconfig?.baseUrl &&
    [...imports].every(([specifier, target]) => isPlainImport(path, specifier, target)) &&
    isOrdinarySource(path, inputs[path.slice(1)]!.imports);
  if (!modules.every(isOrdinary)) return undefined;
  return [...modules.filter(({ path }) => path === script), ...modules.filter(({ path }) => path !== script)];
}

type Inputs = Metafile['inputs'];

/**
 * The modules that esbuild finds. Undefined if the program cannot be transpiled; tsx then reports
 * the error in its usual form.
 */
async function crawl(script: string): Promise<Inputs | undefined> {
  try {
    const { metafile } = await build({
      entryPoints: [script],
      absWorkingDir: '/',
      bundle: true,
      write: false,
      metafile: true,
      packages: 'external',
      platform: 'node',
      format: 'esm',
      // This also keeps type-only imports. Extra modules do no harm.
      tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
      logLevel: 'silent',
    });
    return metafile.inputs;
  } catch {
    return undefined;
  }
}

function isEsModule(path: string): boolean {
  if (/\.m[jt]s$/.test(path)) return true;
  return nearestPackage(path)?.type === 'module';
}

/**
 * Whether a relative import can mean only one existing file, whatever extensions are tried in
 * whatever order.
 */
function isPlainImport(importer: string, specifier: string, target: string): boolean {
  if (!/^\.\.?\//.test(specifier)) return false;
  const files = filesMeant(importer, specifier).filter(existsSync);
  return files.length === 1 && files[0] === target;
}

/** All paths that a relative import can mean. */
function filesMeant(importer: string, specifier: string): string[] {
  const path = resolve(dirname(importer), specifier);
  const stem = ENDINGS.includes(extname(path)) ? path.slice(0, -extname(path).length) : path;
  return ENDINGS.flatMap((ending) => [stem + ending, join(stem, `index${ending}`)]);
}

/**
 * The paths of all files that determined the local modules, including paths at which a file would
 * change them.
 */
export function filesBehind(modules: readonly LocalModule[]): string[] {
  return modules.flatMap(({ path, imports }) => [
    path,
    ...placesUpwards(dirname(path), 'package.json'),
    ...placesUpwards(dirname(path), 'node_modules'),
    ...[...imports.keys()].flatMap((specifier) => filesMeant(path, specifier)),
  ]);
}

function isOrdinarySource(path: string, imports: Inputs[string]['imports']): boolean {
  const source = readFileSync(path, 'utf8');
  const specifiers = imports.map(({ original, path: external }) => original ?? external);
  const count = (pattern: RegExp): number => source.match(pattern)?.length ?? 0;
  const ownName = nearestPackage(path)?.name;
  return (
    !OTHER_META.test(source) &&
    count(DYNAMIC_IMPORT) === imports.filter(({ kind }) => kind === 'dynamic-import').length &&
    (!specifiers.some((name) => MODULE.test(name)) ||
      count(RELATIVE_NAME) === specifiers.filter((name) => /^\.\.?\//.test(name)).length) &&
    count(TYPESCRIPT_NAME) === specifiers.filter((specifier) => /\.[mc]?tsx?$/.test(specifier)).length &&
    // tsx exposes other exports of CommonJS packages than Node.js.
    !imports.some(
      ({ kind, external, path: name }) => kind === 'dynamic-import' && external && !isBuiltin(name),
    ) &&
    // A package's self-references and `#` imports are resolved from its own folder.
    !specifiers.some((name) => NEED_LOADER.test(name) || name.startsWith('#') || isWithin(name, ownName))
  );
}

const isWithin = (specifier: string, name: string | undefined): boolean =>
  name !== undefined && (specifier === name || specifier.startsWith(`${name}/`));

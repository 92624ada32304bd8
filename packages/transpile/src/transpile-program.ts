import { createHash, randomBytes } from 'node:crypto';
import {
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { commonJsFacade } from './commonjs-packages.js';
import { whileEsbuildRuns } from './esbuild-runs.js';
import { filesBehind, findLocalModules, type LocalModule } from './local-modules.js';
import { nearestNodeModules } from './nearest.js';
import { rememberProgram } from './remembered.js';
import { compilerOptionsOf, type CompilerOptions } from './tsconfig.js';

/**
 * A transpiled program that was not started for this long is removed when another one is written.
 * In milliseconds.
 */
const KEPT_MS = 30 * 24 * 3600 * 1000;
/** Node.js 20 says ENOENT if it makes folders in a file system that is read only. */
const CANNOT_WRITE: readonly unknown[] = [
  'ENOENT',
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOSPC',
  'EDQUOT',
  'ENOTDIR',
  'EEXIST',
];

/**
 * Transpiles a TypeScript program, module by module, so that modules are evaluated in the order of
 * the sources. Source maps, `import.meta` and `process.argv` refer to the sources.
 *
 * @returns The path of the transpiled program, in `node_modules/.cache/acc` of its project, from
 * which packages resolve as from the sources. Undefined if the program needs tsx: it is partly
 * CommonJS; it loads files whose names are computed at run time; it starts workers or processes;
 * tsconfig.json has `paths`; or the folder is not writable.
 */
export async function transpileProgram(script: string, cwd: string): Promise<string | undefined> {
  const startedAt = Date.now();
  const program = realpathSync(script);
  const nodeModules = nearestNodeModules(program);
  // Node.js would resolve packages from the target of a link.
  if (nodeModules === undefined || realpathSync(nodeModules) !== nodeModules) return undefined;
  const seen = new Set<string>();
  const tsconfigOf = compilerOptionsOf(cwd, seen);
  if (!tsconfigOf) return undefined;
  const files = await whileEsbuildRuns(() => transpileAll({ program, tsconfigOf, nodeModules, seen }));
  if (!files) return undefined;
  try {
    const all = new Map([...files, [START, startOf(script)]]);
    const path = join(writeOnce(join(nodeModules, '.cache', 'acc'), all), moduleName(program, 0));
    rememberProgram(script, cwd, { path, files: seen, startedAt });
    return path;
  } catch (error) {
    if (CANNOT_WRITE.includes((error as NodeJS.ErrnoException).code)) return undefined;
    throw error;
  }
}

interface Sources {
  readonly program: string;
  readonly tsconfigOf: (path: string) => CompilerOptions | undefined;
  readonly nodeModules: string;
  /** Receives the paths of all files that the transpiled program depends on. */
  readonly seen: Set<string>;
}

/** The transpiled modules by name. */
async function transpileAll({
  program,
  tsconfigOf,
  nodeModules,
  seen,
}: Sources): Promise<ReadonlyMap<string, string> | undefined> {
  const modules = await findLocalModules(program, tsconfigOf);
  if (!modules) return undefined;
  for (const path of filesBehind(modules)) seen.add(path);
  const names = new Map(modules.map(({ path }, index) => [path, moduleName(path, index)]));
  const facades = await facadesOf(modules, seen);
  // Error messages about missing exports of a package show this name.
  const newNames = new Map([...facades.keys()].map((specifier) => [specifier, `packages/${specifier}.mjs`]));
  const files = modules.map(async (each) => {
    const imports = new Map([
      ...each.packages.map((specifier) => [specifier, newNames.get(specifier)] as const),
      ...[...each.imports].map(([specifier, target]) => [specifier, names.get(target)] as const),
    ]);
    return [
      names.get(each.path)!,
      await transpileModule(each, names.get(each.path)!, imports, nodeModules),
    ] as const;
  });
  const packages = [...facades].map(([specifier, text]) => [newNames.get(specifier)!, text] as const);
  return new Map([...(await Promise.all(files)), ...packages]);
}

/** The facade modules of large CommonJS packages, by package name. */
async function facadesOf(
  modules: readonly LocalModule[],
  seen: Set<string>,
): Promise<ReadonlyMap<string, string>> {
  const facades = new Map<string, string>();
  for (const specifier of new Set(modules.flatMap(({ packages }) => packages))) {
    const text = await commonJsFacade(specifier, modules[0]!.path, seen);
    if (text !== undefined) facades.set(specifier, text);
  }
  return facades;
}

/** The module that is evaluated before all others. */
const START = 'start.mjs';

/**
 * Disables source maps until the first module of the program starts. CommonJS packages are loaded
 * in between, and their source maps, which are many MiB in tfjs, are not read.
 */
const startOf = (script: string): string =>
  `process.argv[1] = ${JSON.stringify(script)};\nprocess.setSourceMapsEnabled(false);\n`;

/** The name contains the program's name, so that its processes can be found in process lists. */
const moduleName = (path: string, index: number): string =>
  index === 0 ? `${basename(path)}.mjs` : `${index}-${basename(path)}.mjs`;

async function transpileModule(
  { path, tsconfig }: LocalModule,
  name: string,
  imports: ReadonlyMap<string, string | undefined>,
  nodeModules: string,
): Promise<string> {
  const isProgram = name === moduleName(path, 0);
  const { outputFiles } = await build({
    entryPoints: [path],
    // The path has the depth of the final folder, so that the source map is right.
    outfile: join(nodeModules, '.cache', 'acc', 'program', name),
    write: false,
    bundle: true,
    plugins: [leaveImports(imports)],
    // The same settings as tsx.
    platform: 'node',
    format: 'esm',
    target: `node${process.versions.node}`,
    keepNames: true,
    tsconfigRaw: { compilerOptions: tsconfig as object },
    treeShaking: false,
    sourcemap: 'inline',
    sourcesContent: false,
    define: {
      'import.meta.url': JSON.stringify(pathToFileURL(path).href),
      'import.meta.filename': JSON.stringify(path),
      'import.meta.dirname': JSON.stringify(dirname(path)),
    },
    banner: { js: `${isProgram ? `import './${START}';` : ''}process.setSourceMapsEnabled(true);` },
    logLevel: 'silent',
  });
  return outputFiles[0]!.text;
}

/** Keeps imports as imports, and replaces specifiers that have a new name. */
function leaveImports(names: ReadonlyMap<string, string | undefined>): Plugin {
  return {
    name: 'leave-imports',
    setup({ onResolve }) {
      onResolve({ filter: /.*/ }, ({ kind, path }) => {
        if (kind === 'entry-point') return undefined;
        const name = names.get(path);
        return { path: name === undefined ? path : `./${name}`, external: true };
      });
    },
  };
}

/**
 * Writes files to a folder of `cache` that is named after a hash of their content, unless it
 * exists. Returns the folder.
 */
function writeOnce(cache: string, files: ReadonlyMap<string, string>): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([...files]))
    .digest('hex');
  const folder = join(cache, hash.slice(0, 24));
  try {
    const now = new Date();
    utimesSync(folder, now, now);
    return folder;
  } catch {
    // The folder does not exist.
  }
  const draft = join(cache, `draft-${randomBytes(8).toString('hex')}`);
  try {
    mkdirSync(draft, { recursive: true });
    for (const [name, text] of files) {
      mkdirSync(dirname(join(draft, name)), { recursive: true });
      writeFileSync(join(draft, name), text);
    }
    renameSync(draft, folder);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    // Another launcher has written the same folder.
    if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
  removeOld(cache);
  return folder;
}

function removeOld(cache: string): void {
  for (const name of readdirSync(cache)) {
    const folder = join(cache, name);
    const { mtimeMs } = statSync(folder, { throwIfNoEntry: false }) ?? {};
    if (mtimeMs !== undefined && Date.now() - mtimeMs > KEPT_MS)
      rmSync(folder, { recursive: true, force: true });
  }
}

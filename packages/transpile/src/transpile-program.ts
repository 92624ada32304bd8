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
import { build, stop, type Plugin } from 'esbuild';
import { commonJsFacade } from './commonjs-packages.js';
import { filesBehind, findLocalModules, type LocalModule } from './local-modules.js';
import { nearestNodeModules } from './nearest.js';
import { rememberProgram } from './remembered.js';
import { compilerOptionsOf, type CompilerOptions } from './tsconfig.js';

/** A transpiled program that was not started for so long is removed when another one is written. */
const KEPT_MS = 30 * 24 * 3600 * 1000;
const CANNOT_WRITE: readonly unknown[] = [
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOSPC',
  'EDQUOT',
  'ENOTDIR',
  'EEXIST',
];

/**
 * Transpiles a TypeScript program, each of its modules to one of its own, so that they are evaluated in the order of the
 * sources. Source maps lead back to these, and `import.meta` and `process.argv` name them.
 *
 * @returns The path of the transpiled program, in `node_modules/.cache/acc` of its project, from where packages are found as
 *   from the program. Undefined if the program needs tsx: it is CommonJS, in part at least; it loads files whose names are
 *   made while it runs; it starts workers or processes; tsconfig.json gives `paths`; or the folder cannot be written to.
 */
export async function transpileProgram(script: string, cwd: string): Promise<string | undefined> {
  const startedAt = Date.now();
  const program = realpathSync(script);
  const nodeModules = nearestNodeModules(program);
  // Node would look for packages above the place that a link leads to.
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

let users = 0;

/** Ends esbuild's process when nobody needs it: a launcher runs as long as its job. */
async function whileEsbuildRuns<T>(work: () => Promise<T>): Promise<T> {
  users++;
  try {
    return await work();
  } finally {
    if (--users === 0) await stop();
  }
}

interface Sources {
  readonly program: string;
  readonly tsconfigOf: (path: string) => CompilerOptions | undefined;
  readonly nodeModules: string;
  /** Gets the paths of all files that the transpiled program is made of. */
  readonly seen: Set<string>;
}

/** The transpiled modules by their names. */
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
  // Messages of imports that a package does not have show this name.
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

/** By the names of packages that are imported. */
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

/** It is evaluated before all other modules. */
const START = 'start.mjs';

/**
 * Source maps are on while modules are loaded, and off from here until the first module of the program starts: those of
 * CommonJS packages, which are loaded between the two and are many MiB in tfjs, are not read.
 */
const startOf = (script: string): string =>
  `process.argv[1] = ${JSON.stringify(script)};\nprocess.setSourceMapsEnabled(false);\n`;

/** Processes are found by their program's name, also in their list. */
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
    // As deep as the folder it will be in, for the source map.
    outfile: join(nodeModules, '.cache', 'acc', 'program', name),
    write: false,
    bundle: true,
    plugins: [leaveImports(imports)],
    // As tsx transpiles it.
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

/** Imports stay imports, of modules that have a new name by that one. */
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

/** Writes files to a folder of `cache` named for their content, unless it is there. Gives the folder. */
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
    // It is not there.
  }
  const draft = join(cache, `draft-${randomBytes(8).toString('hex')}`);
  mkdirSync(draft, { recursive: true });
  for (const [name, text] of files) {
    mkdirSync(dirname(join(draft, name)), { recursive: true });
    writeFileSync(join(draft, name), text);
  }
  try {
    renameSync(draft, folder);
  } catch (error) {
    // Another launcher has written the same.
    rmSync(draft, { recursive: true });
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

import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { root } from '../process.mjs';

/** All our packages, and the development dependencies that tests and benchmarks on a GPU use. */
const TOOLS = /^(@tensorflow\/|(vitest|tsx|esbuild|jasmine|jasmine-core|node-gyp|fast-check)$)/;

/**
 * tfjs ships each package in about ten builds. Node and vitest load this one, and a test reads one
 * list of names.
 */
const TFJS_FILES = /^(package\.json|dist\/[\w.-]+\.node\.js|dist\/kernel_names\.js)$/;

/** Files for readers, type checkers and debuggers, and esbuild's second copy of its program. */
const UNUSED = /\.(map|md|markdown|d\.[mc]?ts|flow|tsbuildinfo)$|^node_modules\/esbuild\/bin\//;

/**
 * The installed packages that the roots depend on, directly or not, without files that nothing
 * loads. Relative to the root.
 */
export function installedFiles() {
  const folders = new Set();
  const visit = (folder, names) => {
    for (const name of names) {
      const found = resolvePackage(folder, name);
      // Optional packages are for other platforms, and optional peers may be missing.
      if (found === undefined || folders.has(found)) continue;
      folders.add(found);
      visit(found, dependenciesOf(manifest(found)));
    }
  };
  const { devDependencies } = manifest('.');
  visit(
    '.',
    Object.keys(devDependencies).filter((name) => TOOLS.test(name)),
  );
  for (const workspace of workspaces()) visit(workspace, dependenciesOf(manifest(workspace)));
  const links = readdirSync(join(root, 'node_modules', '@acc')).map((name) =>
    join('node_modules', '@acc', name),
  );
  const files = [...folders].filter((folder) => !isLink(folder)).flatMap(filesOf);
  return [...links, ...files.sort()];
}

/** The output of turbo and of the runner of the specs. Relative to the root. */
export function builtFiles() {
  const folders = workspaces().map((folder) => join(folder, 'dist'));
  return [...folders, join('tests', 'tfjs-core-specs', 'build')]
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => walk(folder))
    .filter((path) => !UNUSED.test(path) && !path.endsWith('.log'));
}

function workspaces() {
  return [...readdirSync(join(root, 'packages')).map((name) => join('packages', name)), 'bench'];
}

function dependenciesOf({ dependencies, optionalDependencies, peerDependencies }) {
  return Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
}

/** Resolves a package like Node: from the folder upwards. */
function resolvePackage(from, name) {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name);
    if (existsSync(join(root, candidate, 'package.json'))) return candidate;
    if (folder === '.') return undefined;
  }
}

function filesOf(folder) {
  const isTfjs = /(^|\/)node_modules\/@tensorflow\/[^/]+$/.test(folder);
  const isWanted = (path) => (isTfjs ? TFJS_FILES.test(relative(folder, path)) : !UNUSED.test(path));
  return walk(folder).filter(isWanted);
}

/** The files below a folder, without those of packages that are installed in it. */
function walk(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (!entry.isDirectory()) return [path];
    return entry.name === 'node_modules' ? [] : walk(path);
  });
}

const isLink = (path) => lstatSync(join(root, path)).isSymbolicLink();
const manifest = (folder) => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));

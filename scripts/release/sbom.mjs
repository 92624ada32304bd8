// Writes the software bill of materials of the published packages, in CycloneDX: `npm run sbom`.
// It lists the packages and everything that npm installs with them, in the versions of
// package-lock.json. In the repository `npm sbom` would leave out what is also a development
// dependency. So it runs on a copy of the manifests and of the lockfile that has none.
//
//   --out <file>           default: .sbom/sbom.cdx.json
//   --platforms <folder>   also lists the platform packages that `npm run build:native-packages` wrote there
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { root, runMain } from '../process.mjs';
import { hostedBy } from './hosts.mjs';
import { packedManifestOf, publishedFolders } from './published.mjs';

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

function writeJson(path, value) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(value, undefined, 2));
}

/** The names of the packages that npm installs with one. */
function namesAskedBy({ dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta }) {
  const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta?.[name]?.optional);
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers];
}

/** The path in the lockfile of a package that the one at `from` asks for: the nearest one above it. */
function resolveIn(lock, from, name) {
  const inside = from.split(/(?:^|\/)node_modules\//);
  const above = inside.map((_, i) => inside.slice(0, inside.length - i).join('/node_modules/'));
  const paths = [...above, ''].map((folder) => `${folder}/node_modules/${name}`.replace(/^\//, ''));
  const path = paths.find((candidate) => candidate in lock);
  if (path === undefined) throw new Error(`${from} asks for ${name}, which package-lock.json lacks.`);
  return path;
}

/** The paths in the lockfile of what npm installs with our packages, and of these. */
function installedPaths(lock) {
  const found = new Set();
  const add = (path) => {
    if (found.has(path)) return;
    found.add(path);
    if (lock[path].link) add(lock[path].resolved);
    else for (const name of namesAskedBy(lock[path])) add(resolveIn(lock, path, name));
  };
  for (const folder of publishedFolders) add(`packages/${folder}`);
  return found;
}

/** The lockfile with published packages as their tarballs are. Private packages are no packages of it. */
function asPublished(lock) {
  const result = { ...lock };
  for (const folder of publishedFolders) {
    result[`packages/${folder}`] = packedManifestOf(folder);
    for (const hosted of hostedBy(folder)) moveInstalled(result, `packages/${hosted}`, `packages/${folder}`);
  }
  return result;
}

/** Moves the packages that are installed in the folder of a private package to that of its host. */
function moveInstalled(lock, from, to) {
  for (const path of Object.keys(lock).filter((name) => name.startsWith(`${from}/`))) {
    lock[path.replace(from, to)] = lock[path];
    delete lock[path];
  }
}

/** An entry of the lockfile, or a manifest, without what only authors need, for every platform. */
function asInstalled(manifest) {
  const without = ['devDependencies', 'scripts', 'dev', 'devOptional', 'os', 'cpu', 'libc'];
  return Object.fromEntries(Object.entries(manifest).filter(([key]) => !without.includes(key)));
}

/** Writes a copy of the manifests and of package-lock.json. */
function writeCopy(folder, platforms) {
  const lock = asPublished(readJson(join(root, 'package-lock.json')).packages);
  const packages = {};
  // npm names workspaces by their folders, so here they have the names of the packages.
  const addWorkspace = (manifest) => {
    const path = `packages/${manifest.name}`;
    packages[path] = asInstalled(manifest);
    packages[`node_modules/${manifest.name}`] = { resolved: path, link: true };
    writeJson(join(folder, path, 'package.json'), packages[path]);
  };
  const manifestIn = (workspace) => readJson(join(root, workspace, 'package.json'));
  for (const path of installedPaths(lock)) {
    const [, workspace, inside] = /^(packages\/[^/]+)(?:\/(.*))?$/.exec(path) ?? [];
    if (inside !== undefined)
      packages[`packages/${manifestIn(workspace).name}/${inside}`] = asInstalled(lock[path]);
    else if (workspace !== undefined) addWorkspace(lock[workspace]);
    else if (!lock[path].link) packages[path] = asInstalled(lock[path]);
  }
  for (const name of platforms === undefined ? [] : readdirSync(platforms)) {
    addWorkspace(readJson(join(resolve(platforms), name, 'package.json')));
  }
  const { name, description, license, repository } = readJson(join(root, 'package.json'));
  const { version } = packages['packages/@acc/core'];
  const workspaces = ['packages/*', 'packages/@acc/*'];
  const manifest = { name, version, description, license, repository, private: true, workspaces };
  writeJson(join(folder, 'package.json'), manifest);
  const lockfile = {
    name,
    version,
    lockfileVersion: 3,
    requires: true,
    packages: { '': manifest, ...packages },
  };
  writeJson(join(folder, 'package-lock.json'), lockfile);
}

/** @returns {object} the bill of materials. Nothing is fetched. */
function createSbom(platforms) {
  const temporary = mkdtempSync(join(tmpdir(), 'acc-sbom-'));
  const folder = join(temporary, 'accelerate-tfjs');
  const options = [
    '--package-lock-only',
    '--sbom-format=cyclonedx',
    '--sbom-type=library',
    '--loglevel=error',
  ];
  try {
    writeCopy(folder, platforms);
    return JSON.parse(
      execFileSync('npm', ['sbom', ...options], { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 26 }),
    );
  } finally {
    rmSync(temporary, { recursive: true });
  }
}

await runMain(() => {
  const { values } = parseArgs({ options: { out: { type: 'string' }, platforms: { type: 'string' } } });
  const out = resolve(values.out ?? join(root, '.sbom', 'sbom.cdx.json'));
  const sbom = createSbom(values.platforms);
  writeJson(out, sbom);
  console.log(`✓ ${out}: ${sbom.components.length} components`);
});

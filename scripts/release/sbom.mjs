// Writes the software bill of materials of the published packages, in CycloneDX: `npm run sbom`.
// It lists the packages and everything that npm installs with them, in the versions of
// package-lock.json. `npm sbom` would leave out what is also a development dependency. So it runs on
// a copy of the manifests that has no development dependencies.
//
//   --out <file>           default: .sbom/sbom.cdx.json
//   --platforms <folder>   also lists the platform packages that `npm run build:native-packages` wrote there
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { root, runMain } from '../process.mjs';

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'));

function writeJson(path, value) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify(value, undefined, 2));
}

/** The folders of the packages that npm publishes. */
const publishedFolders = (platforms) =>
  [join(root, 'packages'), ...(platforms === undefined ? [] : [resolve(platforms)])].flatMap((parent) =>
    readdirSync(parent).map((name) => join(parent, name)),
  );

/** A manifest without what only its authors need, and valid on every platform. */
function asInstalled(manifest) {
  const without = ['devDependencies', 'scripts', 'os', 'cpu', 'libc'];
  return Object.fromEntries(Object.entries(manifest).filter(([key]) => !without.includes(key)));
}

/**
 * The entries of package-lock.json for packages of others. npm names workspaces in the result by
 * their folders, so the folders in the copy have the names of the packages.
 */
function lockedPackages(names) {
  const entries = Object.entries(readJson(join(root, 'package-lock.json')).packages);
  return Object.fromEntries(
    entries.flatMap(([path, entry]) => {
      const [, folder, inside] = /^packages\/([^/]+)\/(node_modules\/.*)$/.exec(path) ?? [];
      if (folder !== undefined) return [[`packages/${names.get(folder)}/${inside}`, entry]];
      return path.startsWith('node_modules/') && !entry.link ? [[path, entry]] : [];
    }),
  );
}

/** Writes a copy of the manifests and of package-lock.json. */
function writeCopy(folder, platforms) {
  const published = publishedFolders(platforms).map((path) => [path, readJson(join(path, 'package.json'))]);
  const names = new Map(
    published.map(([path, { name }]) => [path.slice(join(root, 'packages').length + 1), name]),
  );
  const own = {};
  for (const [, manifest] of published) {
    const path = `packages/${manifest.name}`;
    own[path] = asInstalled(manifest);
    own[`node_modules/${manifest.name}`] = { resolved: path, link: true };
    writeJson(join(folder, path, 'package.json'), own[path]);
  }
  const { name, description, license, repository } = readJson(join(root, 'package.json'));
  const { version } = published[0][1];
  const workspaces = ['packages/*', 'packages/@acc/*'];
  const manifest = { name, version, description, license, repository, private: true, workspaces };
  writeJson(join(folder, 'package.json'), manifest);
  const packages = { '': manifest, ...own, ...lockedPackages(names) };
  writeJson(join(folder, 'package-lock.json'), {
    name,
    version,
    lockfileVersion: 3,
    requires: true,
    packages,
  });
}

/** @returns {object} the bill of materials. Nothing is fetched. */
function createSbom(platforms) {
  const temporary = mkdtempSync(join(tmpdir(), 'acc-sbom-'));
  const folder = join(temporary, 'accelerate-tfjs');
  const npm = (...args) =>
    execFileSync('npm', [...args, '--package-lock-only', '--offline', '--loglevel=error'], {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
    });
  try {
    writeCopy(folder, platforms);
    npm('install', '--ignore-scripts', '--no-audit', '--no-fund');
    return JSON.parse(npm('sbom', '--sbom-format=cyclonedx', '--sbom-type=library'));
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

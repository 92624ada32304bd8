// Writes the folders that npm packs and publishes, one for each published package, from the built
// packages: `node scripts/release/stage.mjs [--out <folder>] [names …]`. It refuses incomplete packages.
//
//   --out <folder>    default: .packed
//   --from <folder>   the folder with the packages (default: packages)
import { copyFileSync, cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { declarationsOf, FOR_TESTS, missingTargets } from '../packed-package.mjs';
import { root, runMain } from '../process.mjs';
import { hostedBy } from './hosts.mjs';
import { withInstalledNames } from './packed-manifest.mjs';
import { packedManifestOf, publishedFolders } from './published.mjs';

/** Files whose imports are rewritten. */
const CODE = /\.(js|d\.ts)$/;

await runMain(() => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { out: { type: 'string' }, from: { type: 'string' } },
  });
  const out = resolve(values.out ?? join(root, '.packed'));
  const packages = resolve(values.from ?? join(root, 'packages'));
  const folders = positionals.length > 0 ? positionals : publishedFolders;
  const problems = folders.flatMap((folder) => problemsOf(folder, packages));
  if (problems.length > 0) {
    console.error(`${problems.join('\n')}\n→ npm run build, in ${root}`);
    return 1;
  }
  for (const folder of folders) stage(folder, packages, join(out, folder));
  return 0;
});

/** Problems of a package, and of the private ones that its tarball contains. */
function problemsOf(folder, packages) {
  if (!publishedFolders.includes(folder)) return [`packages/${folder} is not a published package.`];
  return [folder, ...hostedBy(folder)].flatMap((name) => {
    const { missing, stale } = declarationsOf(join(packages, name));
    const absent = [...new Set([...missingTargets(join(packages, name)), ...missing])];
    return [
      ...absent.map((path) => `packages/${name} is incomplete. missing: ${path}`),
      ...stale.map((path) => `packages/${name} is incomplete. its source is gone: ${path}`),
    ];
  });
}

function stage(folder, packages, target) {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const manifest = packedManifestOf(folder, packages);
  const parts = manifest.files.filter((part) => !part.startsWith('!') && part !== 'internal');
  copyParts(join(packages, folder), target, [...parts, 'README.md']);
  rewriteCode(target);
  for (const name of hostedBy(folder)) {
    const inside = join(target, 'internal', name);
    copyParts(join(packages, name), inside, ['dist', 'src']);
    rewriteCode(inside, name);
  }
  writeFileSync(join(target, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  copyFileSync(join(root, 'LICENSE'), join(target, 'LICENSE'));
}

/** Copies parts of a package, without files for tests. */
function copyParts(from, to, parts) {
  const filter = (path) =>
    !FOR_TESTS.test(relative(from, path)) && !/\.tsbuildinfo$|\/node_modules$/.test(path);
  for (const part of parts) cpSync(join(from, part), join(to, part), { recursive: true, filter });
}

/** Names packages in built files and commands as they are found after the installation. */
function rewriteCode(folder, hosted) {
  for (const part of ['bin', 'dist']) {
    for (const path of filesIn(join(folder, part)).filter((name) => CODE.test(name))) {
      const text = readFileSync(path, 'utf8');
      const named = withInstalledNames(text, hosted);
      if (named !== text) writeFileSync(path, named);
    }
  }
}

function filesIn(folder) {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

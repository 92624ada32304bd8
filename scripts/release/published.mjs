// The published packages with their manifests as the tarballs have them.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../process.mjs';
import { HOSTS, hostedBy } from './hosts.mjs';
import { packedManifest } from './packed-manifest.mjs';

/** The folders in `packages` of the packages that users install, sorted. */
export const publishedFolders = readdirSync(join(root, 'packages'))
  .filter((folder) => !(folder in HOSTS))
  .sort();

/**
 * @param {string} [packages] The folder with the packages.
 * @returns {object} package.json of a published package as its tarball has it.
 */
export function packedManifestOf(folder, packages = join(root, 'packages')) {
  const read = (name) => JSON.parse(readFileSync(join(packages, name, 'package.json'), 'utf8'));
  return packedManifest(read(folder), Object.fromEntries(hostedBy(folder).map((name) => [name, read(name)])));
}

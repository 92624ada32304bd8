// Runs after `changeset version`, in the folder of the repository. It has the packages ask for peers
// of their own release: changesets would raise a peer's range only with a major version of all
// packages (`onlyUpdatePeerDependentsWhenOutOfRange`). Changelogs of private packages are deleted:
// changesets writes one for each package with a version, and these have nothing to tell.
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const paths = readdirSync('packages').map((folder) => join('packages', folder, 'package.json'));
const manifests = paths.map((path) => JSON.parse(readFileSync(path, 'utf8')));
const versions = new Map(manifests.map(({ name, version }) => [name, version]));

for (const [i, manifest] of manifests.entries()) {
  if (manifest.private) rmSync(join(dirname(paths[i]), 'CHANGELOG.md'), { force: true });
  const ours = Object.keys(manifest.peerDependencies ?? {}).filter((name) => versions.has(name));
  if (ours.length === 0) continue;
  for (const name of ours) manifest.peerDependencies[name] = `^${versions.get(name)}`;
  writeFileSync(paths[i], `${JSON.stringify(manifest, undefined, 2)}\n`);
}

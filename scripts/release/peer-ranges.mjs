// Runs after `changeset version`, in the folder of the repository. It has the packages ask for peers
// of their own release: changesets would raise a peer's range only with a major version of all
// packages (`onlyUpdatePeerDependentsWhenOutOfRange`).
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const paths = readdirSync('packages').map((folder) => join('packages', folder, 'package.json'));
const manifests = paths.map((path) => JSON.parse(readFileSync(path, 'utf8')));
const versions = new Map(manifests.map(({ name, version }) => [name, version]));

for (const [i, manifest] of manifests.entries()) {
  const ours = Object.keys(manifest.peerDependencies ?? {}).filter((name) => versions.has(name));
  if (ours.length === 0) continue;
  for (const name of ours) manifest.peerDependencies[name] = `^${versions.get(name)}`;
  writeFileSync(paths[i], `${JSON.stringify(manifest, undefined, 2)}\n`);
}

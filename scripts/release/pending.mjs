// Prints for the release workflow whether changesets wait for a release, and the dist-tag of npm for
// the versions of the repository. In pre mode, changesets that a beta contains stay in `.changeset`
// until the betas end; pre.json lists them.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(process.cwd(), '.changeset');
const state = join(folder, 'pre.json');
const pre = existsSync(state) ? JSON.parse(readFileSync(state, 'utf8')) : undefined;
const isPreMode = pre?.mode === 'pre';
const released = isPreMode ? pre.changesets.map((name) => `${name}.md`) : [];
const waiting = readdirSync(folder).filter(
  (name) => name.endsWith('.md') && name !== 'README.md' && !released.includes(name),
);
// Leaving pre mode is a release of its own.
const isPending = waiting.length > 0 || pre?.mode === 'exit';

console.log(`pending=${isPending}`);
console.log(`tag=${isPreMode ? pre.tag : 'latest'}`);

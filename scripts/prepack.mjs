// npm runs this in the folder of a package before it packs or publishes the package. It refuses an
// incomplete package.
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { declarationsOf, missingTargets } from './packed-package.mjs';
import { root } from './process.mjs';

const folder = process.cwd();
const { missing, stale } = declarationsOf(folder);
const absent = [...new Set([...missingTargets(folder), ...missing])];
const problems = [
  ...absent.map((path) => `missing: ${path}`),
  ...stale.map((path) => `its source is gone: ${path}`),
];
if (problems.length > 0) {
  console.error(`${folder} is incomplete.\n  ${problems.join('\n  ')}\n→ npm run build, in ${root}`);
  process.exit(1);
}
copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));

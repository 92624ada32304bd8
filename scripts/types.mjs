// Writes the type declarations of all packages beside the JavaScript in `dist`. tsc compiles only
// changed sources. Declarations of deleted sources are deleted.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { declarationsOf } from './packed-package.mjs';
import { root, run, runMain, tsc } from './process.mjs';

await runMain(async () => {
  for (const name of readdirSync(join(root, 'packages'))) {
    const folder = join(root, 'packages', name);
    const { missing, stale } = declarationsOf(folder);
    for (const path of stale) rmSync(join(folder, path));
    // tsc does not check whether declarations that it wrote earlier still exist.
    if (missing.length > 0) rmSync(join(folder, 'dist', '.tsbuildinfo'), { force: true });
  }
  return run(tsc, ['-b', 'tsconfig.build.json']);
});

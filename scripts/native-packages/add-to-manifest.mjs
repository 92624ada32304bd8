// npm runs this in the folder of @acc/native before it publishes the package. It adds the platform
// packages that were built to the optional dependencies. They are not dependencies in the
// repository, because npm would then look for them in the registry in every checkout.
//
//   --from <folder>   the folder that `npm run build:native-packages` wrote (default: .native-packages)
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runMain } from '../process.mjs';
import { DEFAULT_OUT } from './build.mjs';

const readManifest = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

await runMain(() => {
  const { values } = parseArgs({ options: { from: { type: 'string' } } });
  const from = resolve(values.from ?? DEFAULT_OUT);
  const manifest = readManifest(process.cwd());
  const platforms = existsSync(from) ? readdirSync(from).map((name) => readManifest(join(from, name))) : [];
  const others = platforms.filter(({ version }) => version !== manifest.version);
  if (platforms.length === 0 || others.length > 0) {
    const found = others.map(({ name, version }) => `${name} ${version}`).join(', ') || 'nothing';
    console.error(`${from} must hold platform packages of version ${manifest.version}; found: ${found}`);
    console.error('→ npm run build:native-packages, on each platform');
    return 1;
  }
  manifest.optionalDependencies = Object.fromEntries(platforms.map(({ name, version }) => [name, version]));
  writeFileSync('package.json', `${JSON.stringify(manifest, undefined, 2)}\n`);
  return 0;
});

import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { npm, packWorkspace, run } from './trackers/packing.js';

const packagesFolder = join(import.meta.dirname, '..', '..', 'packages');

/** Folders of a package and of all of ours that it brings along. */
function withDependencies(folder: string, found = new Set<string>()): Set<string> {
  if (found.has(folder)) return found;
  found.add(folder);
  const { dependencies = {} } = JSON.parse(
    readFileSync(join(packagesFolder, folder, 'package.json'), 'utf8'),
  ) as { dependencies?: Record<string, string> };
  for (const name of Object.keys(dependencies)) {
    if (name.startsWith('@acc/')) withDependencies(name.slice('@acc/'.length), found);
  }
  return found;
}

it('`npm install @acc/core` brings the command acc, which launches', { timeout: 600_000 }, async () => {
  const [tarballs, program] = ['acc-tarballs-', 'acc-program-'].map((name) =>
    mkdtempSync(join(tmpdir(), name)),
  );
  const names = [...withDependencies('core')];
  const paths = await packWorkspace(names, tarballs!);
  const { core, ...others } = Object.fromEntries(names.map((name, i) => [name, `file:${paths[i]}`]));
  const manifest = {
    private: true,
    dependencies: { '@acc/core': core },
    // They would come from the registry.
    overrides: Object.fromEntries(Object.entries(others).map(([name, path]) => [`@acc/${name}`, path])),
  };
  writeFileSync(join(program!, 'package.json'), JSON.stringify(manifest));
  await npm(['install'], program!);
  const script =
    "import { Accelerator } from '@acc/core';\nconsole.log(typeof Accelerator.create, process.env.RANK);\n";
  writeFileSync(join(program!, 'train.mjs'), script);

  const npx = (...args: string[]) => run('npx', ['--no-install', 'acc', ...args], program!);
  expect(await npx('--help')).toContain('launch');
  const lines = (await npx('launch', '-n', '2', 'train.mjs')).trim().split('\n');
  expect(lines.sort()).toEqual(['[0] function 0', '[1] function 1']);
  // Package managers other than npm link the commands of what was asked for only.
  const own = join(program!, 'node_modules', '@acc', 'core', 'bin', 'acc.js');
  expect(await run(process.execPath, [own, '--help'], program!)).toContain('launch');
});

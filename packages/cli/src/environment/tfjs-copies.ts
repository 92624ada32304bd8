import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findPackages, type FoundPackage, type Missing } from './find-packages.js';

const CORE = '@tensorflow/tfjs-core';
const MAJOR = 4;
const PNP_FILES = ['.pnp.cjs', '.pnp.js'];

/** Finds wrong installations of the packages of tfjs for a program in `cwd`. */
export function tfjsProblems(cwd: string, tfjs: readonly FoundPackage[]): Missing[] {
  const pnp = pnpFile(cwd);
  if (pnp !== undefined) return [withPnp(pnp)];
  const core = tfjs.find(({ name }) => name === CORE);
  if (!core) return [{ what: CORE, mend: 'npm install @tensorflow/tfjs' }];
  const old = tfjs.filter(({ version }) => Number.parseInt(version) < MAJOR);
  return [...(old.length > 0 ? [tooOld(old)] : []), ...copiesOf(core, cwd, tfjs)];
}

function tooOld(old: readonly FoundPackage[]): Missing {
  const names = old.map(({ name, version }) => `${name} ${version}`);
  return {
    what: `${names.join(', ')}: the packages of @acc need tfjs ${MAJOR}`,
    mend: `npm install ${old.map(({ name }) => `${name}@${MAJOR}`).join(' ')}`,
  };
}

/** Each package of tfjs, and @acc/core, may find another copy of tfjs-core. */
function copiesOf(core: FoundPackage, cwd: string, tfjs: readonly FoundPackage[]): Missing[] {
  const users = [...tfjs, ...findPackages(cwd, ['@acc/core'])].filter(({ name }) => name !== CORE);
  const found = users.flatMap(({ name, path }) =>
    findPackages(realpathSync(path), [CORE]).map((copy) => ({ ...copy, user: name })),
  );
  const copies = new Map([[realpathSync(core.path), `${core.version} of the program, ${core.path}`]]);
  for (const { path, version, user } of found) {
    const place = realpathSync(path);
    if (!copies.has(place)) copies.set(place, `${version} of ${user}, ${path}`);
  }
  if (copies.size === 1) return [];
  return [
    {
      what: `${copies.size} copies of ${CORE}, each with its own tensors and backends: ${[...copies.values()].join('; ')}`,
      mend: `npm dedupe; npm ls ${CORE} shows which package brings another version`,
    },
  ];
}

/** The file with which Yarn replaces `node_modules`, in `cwd` or above it. */
function pnpFile(cwd: string): string | undefined {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const file = PNP_FILES.map((name) => join(folder, name)).find(existsSync);
    if (file !== undefined || dirname(folder) === folder) return file;
  }
}

function withPnp(file: string): Missing {
  return {
    what: `node_modules: Yarn's Plug'n'Play is in use (${file}), and packages in its archives are not shown here`,
    mend: 'nodeLinker: node-modules in .yarnrc.yml, then yarn install',
  };
}

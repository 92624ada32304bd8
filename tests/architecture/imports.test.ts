import { spawnSync } from 'node:child_process';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root, tool } from '../../scripts/process.mjs';
import {
  isForTests,
  packages,
  programs,
  readText,
  runnablesOf,
  sourcesOf,
  type Workspace,
} from './reading/repository.js';
import { circlesOf } from './reading/circles.js';
import { importsOf, packageOf } from './reading/syntax.js';
import { BUNDLED } from './rules/exceptions.js';
import { FOR_TESTS, LAYERS, PEER_ONLY, PROGRAM_LAYER } from './rules/layers.js';

interface Use {
  readonly file: string;
  readonly specifier: string;
  readonly name: string;
  readonly isValue: boolean;
}

const usesOf = (owner: Workspace): Use[] =>
  [...sourcesOf(owner), ...runnablesOf(owner)].flatMap((file) =>
    importsOf(file).flatMap(({ specifier, isValue }) => {
      const name = packageOf(specifier);
      return name === undefined ? [] : [{ file, specifier, name, isValue }];
    }),
  );

const isOurs = (name: string) => name.startsWith('@acc/');
const layerOf = (name: string) => LAYERS[name] ?? PROGRAM_LAYER;

/** The packages that an installation of the package includes. */
const installedWith = ({ manifest }: Workspace) => ({
  ...manifest.dependencies,
  ...manifest.peerDependencies,
});

describe('the layer table', () => {
  it('contains every package', () => {
    expect(packages.length).toBeGreaterThanOrEqual(9);
    const unknown = packages.map(({ manifest }) => manifest.name).filter((name) => !(name in LAYERS));
    expect(unknown, 'are not in tests/architecture/rules/layers.ts').toEqual([]);
  });

  it('is respected by every import', () => {
    let seen = 0;
    const upwards = packages.flatMap((owner) =>
      usesOf(owner).filter(({ file, name }) => {
        if (!isOurs(name)) return false;
        seen++;
        if (isForTests(file) && name === FOR_TESTS) return false;
        return layerOf(name) >= layerOf(owner.manifest.name);
      }),
    );
    expect(upwards).toEqual([]);
    expect(seen).toBeGreaterThan(50);
  });

  it('is respected by every package.json and tsconfig.json', () => {
    let seen = 0;
    const upwards = packages.flatMap((owner) => {
      const { name: own, devDependencies } = owner.manifest;
      const names = [...Object.keys(installedWith(owner)), ...referencesOf(owner)];
      const forTests = Object.keys(devDependencies ?? {}).filter((name) => name !== FOR_TESTS);
      const ours = [...names, ...forTests].filter(isOurs);
      seen += ours.length;
      return ours.filter((name) => layerOf(name) >= layerOf(own)).map((name) => `${own} → ${name}`);
    });
    expect(upwards).toEqual([]);
    expect(seen).toBeGreaterThan(20);
  });
});

it('tsconfig.build.json builds every package', () => {
  const built = pathsOfReferences('tsconfig.build.json');
  const missing = packages.map(({ folder }) => folder).filter((folder) => !built.includes(folder));
  expect(missing, 'are not in references of tsconfig.build.json').toEqual([]);
});

it('oxlint knows the types of each kind of TypeScript file', () => {
  const files = [
    'packages/core/src/accelerator.ts',
    'packages/core/src/accelerator.test.ts',
    'scripts/check/check.ts',
    'examples/base.ts',
    'bench/ours.ts',
    'tests/e2e/on-ranks.ts',
  ];
  const { stdout, stderr } = spawnSync(tool('oxlint'), ['--type-aware', ...files], {
    cwd: root,
    env: { ...process.env, OXC_LOG: 'debug' },
    encoding: 'utf8',
  });
  expect(stdout + stderr).toContain('Unmatched files: 0');
});

/** The packages that a package loads, by name, and the sources of those that are ours. */
function loadedBy(first: string): { readonly names: readonly string[]; readonly files: readonly string[] } {
  const names = new Set<string>();
  const files: string[] = [];
  const load = (name: string): void => {
    if (names.has(name)) return;
    names.add(name);
    const owner = packages.find(({ manifest }) => manifest.name === name);
    if (!owner) return;
    const sources = sourcesOf(owner).filter((file) => !isForTests(file));
    files.push(...sources);
    for (const { specifier, isValue } of sources.flatMap((file) => importsOf(file))) {
      const used = packageOf(specifier);
      if (isValue && used !== undefined) load(used);
    }
  };
  load(first);
  return { names: [...names], files };
}

it('a rank loads neither the command acc nor what transpiles programs', () => {
  const { names } = loadedBy('@acc/core');
  expect(names).toEqual(expect.arrayContaining(['@acc/kernels', '@acc/native', 'zod']));
  for (const name of ['@acc/cli', '@acc/transpile', 'tsx', 'esbuild']) expect(names).not.toContain(name);
});

// Node.js looks for all names before it runs a module, so no check of its version could come first.
it('a rank imports no single name that Node.js 16 lacks', () => {
  const late =
    /import [^;]*\{[^}]*\b(crc32|availableParallelism|statfs|statfsSync|styleText|registerHooks)\b[^}]*\} from 'node:/;
  expect(loadedBy('@acc/core').files.filter((file) => late.test(readText(file)))).toEqual([]);
  expect("import fs, { open, statfs } from 'node:fs/promises';").toMatch(late);
});

describe('circles', () => {
  it('are found, also of one file', () => {
    const graph = new Map([
      ['a', ['b']],
      ['b', ['c', 'd']],
      ['c', ['a']],
      ['d', ['d']],
      ['e', ['a']],
    ]);
    expect(circlesOf(graph)).toEqual([['d'], ['a', 'b', 'c']]);
  });

  // A type belongs to the lower of two files, or to one of its own.
  it('of files of a package do not exist, not even by types', () => {
    let seen = 0;
    const circles = packages.flatMap((owner) => {
      const graph = graphOf(sourcesOf(owner).filter((file) => !isForTests(file)));
      seen += [...graph.values()].flat().length;
      return circlesOf(graph);
    });
    expect(circles).toEqual([]);
    expect(seen).toBeGreaterThan(1000);
  });
});

const isBundled = (file: string) => BUNDLED.some(({ where }) => where === file);

describe('dependencies', () => {
  it('are declared: a package installs what it imports', () => {
    let seen = 0;
    const undeclared = packages.flatMap((owner) => {
      const installed = installedWith(owner);
      return usesOf(owner).filter(({ file, name }) => {
        seen++;
        return !isForTests(file) && !(name in installed) && !isBundled(file);
      });
    });
    expect(undeclared, 'import what package.json of their package does not name').toEqual([]);
    expect(seen).toBeGreaterThan(100);
  });

  it('are used: no package is installed or built without need', () => {
    const unused = [...packages, ...programs].flatMap((owner) => {
      if (!owner.folder.startsWith('packages/')) return [];
      const used = new Set(usesOf(owner).map(({ name }) => name));
      const named = [
        ...Object.keys(installedWith(owner)).map((name) => ['package.json', name] as const),
        ...referencesOf(owner).map((name) => ['tsconfig.json', name] as const),
      ];
      return named
        .filter(([, name]) => isOurs(name) && !used.has(name))
        .map(([file, name]) => `${owner.folder}/${file}: ${name}`);
    });
    expect(unused, 'no source imports these packages').toEqual([]);
  });

  it('on tfjs are peer dependencies', () => {
    const installed = packages.flatMap(({ manifest }) =>
      Object.keys(manifest.dependencies ?? {}).filter((name) => PEER_ONLY.test(name)),
    );
    expect(installed).toEqual([]);
    expect(
      packages.some(({ manifest }) => '@tensorflow/tfjs-core' in (manifest.peerDependencies ?? {})),
    ).toBe(true);
  });

  it('are imported by their exports, never by their files', () => {
    const deep = packages.flatMap((owner) =>
      sourcesOf(owner).flatMap((file) =>
        importsOf(file)
          .filter(({ specifier }) => isDeep(owner, file, specifier))
          .map(({ specifier }) => `${file}: ${specifier}`),
      ),
    );
    expect(deep).toEqual([]);
  });
});

/** The files of a package that each of them imports, also types alone. */
function graphOf(files: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const known = new Set(files);
  return new Map(
    files.map((file) => {
      const paths = importsOf(file)
        .filter(({ specifier }) => specifier.startsWith('.'))
        .map(({ specifier }) => normalize(join(dirname(file), specifier)).replace(/\.js$/, '.ts'));
      return [file, paths.filter((path) => known.has(path))];
    }),
  );
}

function isDeep(owner: Workspace, file: string, specifier: string): boolean {
  if (specifier.startsWith('.')) {
    const home = isForTests(file) ? owner.folder : `${owner.folder}/src`;
    return !normalize(join(dirname(file), specifier)).startsWith(`${home}/`);
  }
  const target = packages.find(({ manifest }) => manifest.name === packageOf(specifier));
  return (
    target !== undefined && !(specifier.replace(target.manifest.name, '.') in (target.manifest.exports ?? {}))
  );
}

/** The packages that TypeScript builds first according to tsconfig.json. */
function referencesOf({ folder }: Workspace): string[] {
  return pathsOfReferences(`${folder}/tsconfig.json`).map((path) => {
    const target = packages.find((candidate) => candidate.folder === normalize(join(folder, path)));
    return target?.manifest.name ?? path;
  });
}

function pathsOfReferences(path: string): string[] {
  const { references = [] } = JSON.parse(readText(path)) as { references?: { path: string }[] };
  return references.map((reference) => reference.path);
}

import { describe, expect, it } from 'vitest';
import { importGraph, resolveImport, specifiersIn } from '../../scripts/queue/imports.mjs';
import { filesOfProjects, REPEATED } from '../../scripts/queue/projects.mjs';
import { filesUnder, isForTests, packages, readText, sourcesOf } from './reading/repository.js';
import { importsOf, packageOf } from './reading/syntax.js';

const { release, ...projects } = filesOfProjects();

/** Tests of the project release, of `npm run test:gpu` and `npm run test:device`, and of packages that users begin with. */
const OTHERS = /^tests\/(gpu|device|release)\/|^packages\/[^/]+\/template\//;

describe("vitest's projects", () => {
  it('contain each test once', () => {
    const tests = ['packages', 'tests', 'scripts']
      .flatMap((folder) => filesUnder(folder, ['.test.ts', '.test.mjs']))
      .filter((file) => !OTHERS.test(file));
    expect(Object.values(projects).flat().sort()).toEqual(tests.sort());
  });

  it('repeat only tests that belong to another project before a release', () => {
    const others = REPEATED.filter((file) => !Object.values(projects).flat().includes(file));
    expect(others).toEqual([]);
    expect(release.length).toBeGreaterThan(REPEATED.length);
  });

  it('repeat each test that has more, or the real times, before a release', () => {
    const asks = /inject\('isRelease'\)|\/only-in-release\.js'|\/patience\.js'/;
    const asking = Object.values(projects)
      .flat()
      .filter((file) => asks.test(readText(file)));
    expect(asking.sort()).toEqual([...REPEATED].sort());
  });

  it('let many unit tests share processes', () => {
    expect(projects.pure.length).toBeGreaterThan(130);
  });
});

/** The limit of a test or hook: its last argument, or its options before the function. */
const LIMIT_OF_TEST = /^\s*(?:\}, )?([\d_]+)(?:,\n\s*)?\);$|[('"`], \{ timeout: ([\d_]+) \}, (?:async )?\(/gm;

it('no test has a limit of its own below that of all tests, which a busy machine could reach', () => {
  const files = [...Object.values(projects).flat(), ...filesUnder('tests/release', ['.test.ts'])];
  const limits = files.flatMap((file) =>
    [...readText(file).matchAll(LIMIT_OF_TEST)].map(([, last, option]) => {
      return { file, ms: Number((last ?? option)!.replaceAll('_', '')) };
    }),
  );
  // Less than a second: a timer in the test itself.
  expect(limits.filter(({ ms }) => ms >= 1_000 && ms < 300_000)).toEqual([]);
  expect(limits.length).toBeGreaterThan(20);
});

it('what is read from the text misses no import that the parser finds', () => {
  const files = [...packages.flatMap(sourcesOf), ...filesUnder('tests/layers-parity', ['.ts'])];
  const missed = files.flatMap((file) => {
    const read = specifiersIn(readText(file));
    const values = importsOf(file).filter(({ isValue }) => isValue);
    return values
      .filter(({ specifier }) => !read.includes(specifier))
      .map(({ specifier }) => [file, specifier]);
  });
  expect(missed).toEqual([]);
  expect(files.length).toBeGreaterThan(1000);
});

/**
 * In unit tests, the package under test is loaded from its source and the others as they are built
 * (tests/own-source.ts). If one of them loaded the package under test, there would be two copies of
 * it.
 */
it("a package's tests import nothing that loads the package itself", () => {
  const { reached } = importGraph();
  let seen = 0;
  const upwards = packages.flatMap((owner) =>
    sourcesOf(owner)
      .filter(isForTests)
      .flatMap((file) => {
        const others = importsOf(file).filter(({ specifier, isValue }) => {
          const name = isValue ? packageOf(specifier) : undefined;
          return name !== undefined && name !== owner.manifest.name;
        });
        seen += others.length;
        const isOwn = (path: string) => path.startsWith(`${owner.folder}/`);
        return others
          .filter(({ specifier }) => [...reached(resolveImport(specifier, file))].some(isOwn))
          .map(({ specifier }) => [file, specifier]);
      }),
  );
  expect(upwards).toEqual([]);
  expect(seen).toBeGreaterThan(100);
});

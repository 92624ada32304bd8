import { expect, it } from 'vitest';
import { wantedBy } from './select-others.js';

const TESTS = [
  'packages/native/src/winograd.test.ts',
  'packages/native/src/adam.test.ts',
  'packages/fsdp/src/unit.test.ts',
  'tests/e2e/shm.test.ts',
  'tests/e2e/data/columnar.test.ts',
  'tests/e2e/site/pages.test.ts',
  'tests/e2e/readme.test.ts',
];
const context = {
  tests: TESTS,
  testsOf: (path: string) => (path === 'tests/e2e/ranks/shm.ts' ? ['tests/e2e/shm.test.ts'] : []),
  naming: (text: string) => (/^(README\.md|npm run)$/.test(text) ? ['tests/e2e/readme.test.ts'] : []),
};
const wanted = (path: string) => wantedBy({ path }, context);

it.each([
  ['a test', 'tests/e2e/shm.test.ts', { tests: ['tests/e2e/shm.test.ts'] }],
  ['a deleted test', 'packages/fsdp/src/gone.test.ts', {}],
  ['a program of ranks', 'tests/e2e/ranks/shm.ts', { tests: ['tests/e2e/shm.test.ts'] }],
  ['a fixture', 'tests/e2e/data/python/write.py', { tests: ['tests/e2e/data/columnar.test.ts'] }],
  [
    'a page',
    'site/docs/guide/a.md',
    {
      tests: [],
      others: [
        'tests/e2e/site/pages.test.ts',
        'tests/e2e/site/examples.test.ts',
        'tests/e2e/site/examples-apart.test.ts',
      ],
    },
  ],
  [
    'a document',
    'README.md',
    { tests: ['tests/e2e/readme.test.ts'], others: ['tests/e2e/site/pages.test.ts'] },
  ],
  ['a manifest', 'packages/fsdp/package.json', { tests: [], suite: 'packages/fsdp' }],
  ['the lockfile', 'package-lock.json', { isEverything: true }],
  ['a changeset', '.changeset/a.md', {}],
  ['the record itself', 'tests/executed/tests.txt', {}],
])('%s', (_, path, expected) => {
  expect(wanted(path)).toEqual(expected);
});

it('C++ selects tests of its name, then those of its part, then the suite', () => {
  const winograd = wanted('packages/native/cpp/engine/kernels/winograd/products.h');
  expect(winograd).toEqual({
    tests: ['packages/native/src/winograd.test.ts'],
    others: ['packages/native/src/winograd.test.ts'],
    suite: 'packages/native',
  });
  const shm = wanted('packages/native/cpp/engine/groups/shm/messages.cpp');
  expect(shm).toEqual({ tests: [], others: ['tests/e2e/shm.test.ts'], suite: 'packages/native' });
});

it('commands of the repository are read by the tests that run some, everything else by all', () => {
  const manifest = (change: object) =>
    JSON.stringify({ name: 'root', scripts: { check: 'a' }, engines: { node: '20' }, ...change });
  const wantedFor = (change: object) =>
    wantedBy({ path: 'package.json', before: manifest({}), now: manifest(change) }, context);
  expect(wantedFor({ scripts: { check: 'b' } })).toEqual({ tests: ['tests/e2e/readme.test.ts'] });
  expect(wantedFor({ engines: { node: '22' } })).toEqual({ isEverything: true });
});

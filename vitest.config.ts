import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { filesOfProjects } from './scripts/queue/projects.mjs';

const alias = { 'fast-check': fileURLToPath(new URL('tests/seeded-fast-check.ts', import.meta.url)) };
const source = { conditions: ['@acc/source'], alias };
const shared = { resolve: source, ssr: { resolve: source } };
const built = { resolve: { alias } };
/**
 * Test files run at the same time, and libtorch's threads spin while they wait, so they would
 * compete for cores.
 */
const env = { OMP_WAIT_POLICY: 'passive' };
/**
 * Unseeded draws, such as those of initializers, are the same in every run, as fast-check's are
 * (tests/seeded-fast-check.ts).
 */
const execArgv = [`--random-seed=${process.env['ACC_TEST_SEED'] ?? 1}`];
const globalSetup = ['tests/own-temporary-folder.ts'];
const buildSetup = [...globalSetup, 'tests/built-packages.ts'];
const provideTfjsNode = 'tests/provided-tfjs-node.ts';
const ranksSetup = [...buildSetup, 'tests/found-libtorch.ts'];
const provideTools = 'tests/hosts/provide-tools.ts';

/** By default vitest leaves a core free. */
const maxWorkers = '100%';
/**
 * Of e2e and hosts, at least two files run at a time, because many cases wait, for example until a
 * fault is detected.
 */
const maxWorkersOfRanks = Math.max(2, Math.floor(availableParallelism() / 2));

const files = filesOfProjects();

const unit = {
  env,
  execArgv,
  globalSetup: [...buildSetup, provideTfjsNode],
  maxWorkers,
  testTimeout: 30_000,
};
const e2e = {
  env,
  globalSetup: [...ranksSetup, provideTfjsNode],
  provide: { isRelease: false },
  testTimeout: 120_000,
  hookTimeout: 120_000,
};

/**
 * - pure: tests beside their sources that reach neither tfjs nor the addon. They share processes.
 * - unit: the other tests beside their sources. Each file has its own process, because much of tfjs
 *   and of the backend belongs to the process.
 * - architecture: the rules of the repository.
 * - e2e: real processes with the built packages.
 * - ranks: the same on rank processes that go on from file to file.
 * - hosts: the same on several hosts, which are network namespaces. Needs Linux and root.
 * - release: long trainings, cables that lose packets, and some e2e tests with more repetitions.
 *
 * `npm test` runs each project in shards (scripts/queue).
 */
export default defineConfig({
  test: {
    projects: [
      { ...shared, test: { ...unit, name: 'pure', include: files.pure, isolate: false } },
      { ...shared, test: { ...unit, name: 'unit', include: files.unit } },
      {
        ...shared,
        test: {
          name: 'architecture',
          globalSetup,
          include: files.architecture,
          isolate: false,
          testTimeout: 120_000,
        },
      },
      { ...built, test: { ...e2e, name: 'e2e', include: files.e2e, maxWorkers: maxWorkersOfRanks } },
      { ...built, test: { ...e2e, name: 'ranks', include: files.ranks, isolate: false, maxWorkers: 1 } },
      {
        test: {
          name: 'hosts',
          env,
          include: files.hosts,
          globalSetup: [...ranksSetup, provideTools],
          provide: { isRelease: false },
          testTimeout: 180_000,
          hookTimeout: 120_000,
          maxWorkers: maxWorkersOfRanks,
        },
      },
      {
        test: {
          name: 'release',
          env,
          include: files.release,
          provide: { isRelease: true },
          globalSetup: [...ranksSetup, provideTools],
          testTimeout: 600_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
    ],
  },
});

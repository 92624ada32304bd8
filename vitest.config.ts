import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { filesOfProjects, type ProjectName } from './scripts/queue/projects.mjs';
import { givenShard } from './scripts/queue/shard.mjs';
import { namedTfjs } from './tests/named-tfjs.js';
import { ownSource } from './tests/own-source.js';

/**
 * The project and the files of a shard of the queue (scripts/queue), which has done the global
 * set-up. Undefined in a direct run of vitest.
 */
const shard = givenShard();

const alias = { 'fast-check': fileURLToPath(new URL('tests/seeded-fast-check.ts', import.meta.url)) };
const resolve = { alias };
const source = { plugins: [ownSource, namedTfjs], resolve };
/** Node itself loads built packages. */
const server = { deps: { external: [/\/packages\/[^/]+\/dist\//] } };
/**
 * Test files run at the same time, and libtorch's threads spin while they wait, so they would
 * compete for cores.
 */
const env = { OMP_WAIT_POLICY: 'passive' };
/**
 * Unseeded draws, such as those of initializers, are the same in every run, as fast-check's are
 * (tests/seeded-fast-check.ts).
 */
const seed = `--random-seed=${process.env['ACC_TEST_SEED'] ?? 1}`;
/**
 * As continuous ranks (packages/testkit/src/continuous/job.ts): many short processes on few cores collect
 * garbage without threads of their own, and compile only what runs often.
 */
const shortRuns = [
  '--single-threaded-gc',
  ...(process.versions.node.startsWith('20.') ? ['--interrupt-budget=1000000'] : []),
];
const execArgv = [seed, ...shortRuns];

const setups = (...names: readonly string[]) => (shard ? [] : names.map((name) => `tests/${name}.ts`));
const ownFolder = setups('own-temporary-folder');
const pureSetup = [...ownFolder, ...setups('built-packages')];
const setupWithEngines = [...pureSetup, ...setups('provided-tfjs-node', 'found-libtorch')];
const hostsSetup = [...pureSetup, ...setups('found-libtorch', 'hosts/provide-tools')];

/** By default vitest leaves a core free. */
const maxWorkers = '100%';
/**
 * Of e2e and hosts, at least two files run at a time, because many cases wait, for example until a
 * fault is detected.
 */
const maxWorkersOfRanks = Math.max(2, Math.floor(availableParallelism() / 2));

/** Counts what files take, if that was asked for: `npm test -- --counts <folder>`. */
const setupFiles = ['tests/counts/count-file.ts'];

/**
 * How long a test, a hook and a polled expectation may take. A hang ends by them; nothing that is slow
 * because the machine is busy does. No test has a shorter limit of its own (tests/architecture).
 */
const limits = {
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 120_000 } },
};

const unit = {
  ...limits,
  env,
  setupFiles,
  execArgv,
  server,
  globalSetup: setupWithEngines,
  provide: { isRelease: false },
  maxWorkers,
};
const e2e = {
  ...limits,
  env,
  setupFiles,
  server,
  globalSetup: setupWithEngines,
  provide: { isRelease: false },
};

/**
 * - pure: tests beside their sources that reach neither tfjs nor the addon. They share processes.
 * - unit: the other tests beside their sources. Each file has its own process, because much of tfjs
 *   and of the backend belongs to the process.
 * - architecture: the rules of the repository.
 * - e2e: real processes with the built packages.
 * - ranks: the same, with rank processes that go on from file to file.
 * - hosts: the same on several hosts, which are network namespaces. Needs Linux and root.
 * - threads: worker threads that end while the addon works (`npm run test:sanitizers`).
 * - release: long trainings, cables that lose packets, and some e2e tests with more repetitions.
 */
const projects: Readonly<Record<ProjectName, TestProjectInlineConfiguration>> = {
  pure: {
    ...source,
    test: {
      ...unit,
      globalSetup: pureSetup,
      setupFiles: [...setupFiles, 'tests/nothing-left.ts'],
      isolate: false,
    },
  },
  unit: { ...source, test: unit },
  architecture: { ...source, test: { ...limits, globalSetup: ownFolder, isolate: false } },
  e2e: { resolve, test: { ...e2e, maxWorkers: maxWorkersOfRanks } },
  ranks: { resolve, test: { ...e2e, isolate: false, maxWorkers: 1 } },
  threads: { resolve, test: { ...e2e, testTimeout: 600_000, fileParallelism: false } },
  hosts: {
    test: { ...e2e, globalSetup: hostsSetup, maxWorkers: maxWorkersOfRanks },
  },
  release: {
    test: {
      ...limits,
      env,
      globalSetup: hostsSetup,
      provide: { isRelease: true },
      testTimeout: 600_000,
      fileParallelism: false,
    },
  },
};

const files = shard ? { [shard.project]: shard.files } : filesOfProjects();

export default defineConfig({
  test: {
    projects: Object.entries(files).map(([name, include]) => {
      const project = projects[name as ProjectName];
      // A direct run of several projects runs one after the other: each has its own `maxWorkers`.
      const groupOrder = Object.keys(projects).indexOf(name);
      return { ...project, test: { ...project.test, name, include, sequence: { groupOrder } } };
    }),
  },
});

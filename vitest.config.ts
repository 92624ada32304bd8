import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

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

/**
 * Tests with few repetitions, steps or numbers of ranks in `npm test`, and many in
 * `npm run test:release`. They ask `inject('isRelease')`.
 */
const REPEATED = [
  'tests/e2e/checkpoints/kill-while-saving.test.ts',
  'tests/e2e/conformance.test.ts',
  'tests/e2e/deterministic.test.ts',
  'tests/e2e/tfjs-node/core-specs.test.ts',
  'tests/hosts/elastic.test.ts',
];

/** By default vitest leaves a core free. */
const maxWorkers = '100%';

/**
 * - unit: tests beside their sources. Each file has its own process, because much of tfjs and of
 *   the backend belongs to the process.
 * - architecture: the rules of the repository.
 * - e2e: real processes with the built packages.
 * - hosts: the same on several hosts, which are network namespaces. Needs Linux and root.
 * - release: long trainings, cables that lose packets, and some e2e tests with more repetitions.
 *
 * Of e2e and hosts, two files run at a time, because many cases wait, for example until a fault is
 * detected.
 */
export default defineConfig({
  test: {
    projects: [
      {
        ...shared,
        test: {
          name: 'unit',
          env,
          execArgv,
          globalSetup: [...buildSetup, provideTfjsNode],
          include: [
            'packages/*/src/**/*.test.ts',
            'tests/layers-parity/*.test.ts',
            'tests/cuda/*.test.ts',
            'tests/tfjs-core-specs/*.test.mjs',
          ],
          maxWorkers,
          testTimeout: 30_000,
        },
      },
      {
        ...shared,
        test: {
          name: 'architecture',
          globalSetup,
          include: ['tests/architecture/**/*.test.ts'],
          isolate: false,
          testTimeout: 120_000,
        },
      },
      {
        ...built,
        test: {
          name: 'e2e',
          env,
          globalSetup: [...ranksSetup, provideTfjsNode],
          include: ['tests/e2e/**/*.test.ts'],
          provide: { isRelease: false },
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'hosts',
          env,
          include: ['tests/hosts/**/*.test.ts'],
          globalSetup: [...ranksSetup, provideTools],
          provide: { isRelease: false },
          testTimeout: 180_000,
          hookTimeout: 120_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'release',
          env,
          include: [...REPEATED, 'tests/release/**/*.test.ts'],
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

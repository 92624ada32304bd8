// vitest's projects and the test files of each. vitest.config.ts and the queue ask here.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../process.mjs';
import { importGraph } from './imports.mjs';

/** A module that loads the addon. */
const LOADS_ADDON = 'packages/native/src/libtorch/load.ts';
const IS_ENGINE = /^@tensorflow\/tfjs/;
/** Runs modules on continuous ranks. */
const ON_RANKS = 'tests/e2e/on-ranks.ts';

/**
 * Tests with few repetitions, steps or numbers of ranks, or with short waits in `npm test`, and with
 * many, or the real ones, in `npm run test:release`. They ask `inject('isRelease')`.
 */
export const REPEATED = [
  'packages/kernels/src/fusion/fusion.fuzz.test.ts',
  'packages/kernels/src/fusion/passes/recompute/recompute.fuzz.test.ts',
  'packages/kernels/src/fusion/writes.fuzz.test.ts',
  'packages/kernels/src/odd-arguments/odd-arguments.test.ts',
  'packages/kernels/src/pending/one-arithmetic.test.ts',
  'tests/e2e/checkpoints/by-name.test.ts',
  'tests/e2e/checkpoints/kill-while-saving.test.ts',
  'tests/e2e/checkpoints/preemption.test.ts',
  'tests/e2e/composes/composes.test.ts',
  'tests/e2e/conformance.test.ts',
  'tests/e2e/deadlock.test.ts',
  'tests/e2e/deterministic.test.ts',
  'tests/e2e/experts/balance.test.ts',
  'tests/e2e/faults.test.ts',
  'tests/e2e/fsdp/compiled.test.ts',
  'tests/e2e/fsdp/offload.test.ts',
  'tests/e2e/fsdp/optimizers.test.ts',
  'tests/e2e/fsdp/saved.test.ts',
  'tests/e2e/launcher-killed.test.ts',
  'tests/e2e/mesh-pairs/balance.test.ts',
  'tests/e2e/mesh-pairs/compiled.test.ts',
  'tests/e2e/mesh-pairs/mesh-pairs.test.ts',
  'tests/e2e/mesh-pairs/on-eight.test.ts',
  'tests/e2e/mesh-pairs/pipelines.test.ts',
  'tests/e2e/mesh-pairs/together.test.ts',
  'tests/e2e/pipeline/steps.test.ts',
  'tests/e2e/tensor-parallel/compiled.test.ts',
  'tests/e2e/tensor-parallel/layers-models.test.ts',
  'tests/e2e/tensor-parallel/llama.test.ts',
  'tests/e2e/tfjs-node/core-specs.test.ts',
  'tests/e2e/wrong/programs.test.ts',
  'tests/hosts/elastic.test.ts',
  'tests/hosts/etcd.test.ts',
  'tests/hosts/faults-within-messages.test.ts',
  'tests/hosts/faults.test.ts',
  'tests/hosts/hierarchical.test.ts',
  'tests/hosts/mpi.test.ts',
  'tests/hosts/rescue.test.ts',
  'tests/hosts/subgroups.test.ts',
  'tests/mutations/mutations.test.ts',
];

/**
 * Text with which a test asks its whole process, or changes it: its memory and tensors, replays of compiled
 * steps, measured kernels, the environment, replaced functions, other processes.
 */
const ASKS_PROCESS =
  /vi\.(mock|doMock|spyOn|stub|use|reset)|emory\(\)|numTensors|memoryStats|liveTensors|replays|NoLeak|process\.|console\.|(register|remove|find)Backend\(['"]|setBackend\((?!'acc')|spawn|fork|Worker|performance\.|globalThis|gc\(|[mM]easur|[tT]uner|env\(\)/;
/** Fewer files do not save the start of a vitest of their own. */
const LEAST_TOGETHER = 5;

/**
 * Divides unit tests by whether they may share a process. Tests may that only compare values. They share
 * it with those of their own package: a second package would load the first one as it is built, and so
 * there would be two copies of it.
 *
 * @param {readonly string[]} files
 * @returns {{apart: string[], together: string[][]}}
 */
export function divideUnits(files) {
  const places = new Map();
  for (const file of files) {
    // Kernels keep settings and choices for the whole process, so a test of them depends on earlier ones.
    if (file.startsWith('packages/kernels/')) continue;
    if (ASKS_PROCESS.test(readFileSync(join(root, file), 'utf8'))) continue;
    const place = file.split('/', 2).join('/');
    places.set(place, [...(places.get(place) ?? []), file]);
  }
  const together = [...places.values()].filter((each) => each.length >= LEAST_TOGETHER);
  const chosen = new Set(together.flat());
  return { apart: files.filter((file) => !chosen.has(file)), together };
}

/**
 * Tests of ranks, in an order in which those with the same variables are neighbours, because their jobs
 * then go on from file to file.
 */
export function byVariables(files) {
  return split(files, (file) => readFileSync(join(root, file), 'utf8').includes('SAME_KERNELS')).flat();
}

/**
 * The test files of each project, by their paths from the root, sorted.
 *
 * - pure: unit tests that replace no modules, and whose modules reach neither tfjs nor the addon.
 * - unit: the other unit tests.
 * - ranks: tests of `tests/e2e` that run modules on continuous ranks, themselves or by what they import.
 * - threads: worker threads that end while the addon works, for `npm run test:sanitizers`.
 *
 * @returns {Record<'pure' | 'unit' | 'architecture' | 'e2e' | 'ranks' | 'hosts' | 'threads' | 'release', string[]>}
 */
export function filesOfProjects() {
  const { reached } = importGraph();
  const contains = (file, text) => readFileSync(join(root, file), 'utf8').includes(text);
  // A module that a file has replaced would stay replaced for the next files.
  const replacesModules = (file) => contains(file, 'vi.mock(') || contains(file, 'vi.doMock(');
  const isPure = (file) => ![...reached(file)].some(hasState) && !replacesModules(file);
  const [pure, unit] = split(unitFiles(), isPure);
  const [ranks, e2e] = split(testsUnder('tests/e2e'), (file) => reached(file).has(ON_RANKS));
  return {
    pure,
    unit,
    architecture: testsUnder('tests/architecture'),
    e2e,
    ranks,
    hosts: testsUnder('tests/hosts'),
    threads: testsUnder('tests/threads'),
    release: [...REPEATED, ...testsUnder('tests/release')],
  };
}

const hasState = (reached) => IS_ENGINE.test(reached) || reached === LOADS_ADDON;

function unitFiles() {
  const packages = readdirSync(join(root, 'packages')).sort();
  const folders = [
    'tests/layers-parity',
    'tests/cuda',
    'tests/mutations',
    'tests/tfjs-core-specs',
    'scripts/queue',
    'scripts/check',
    'scripts/titles',
  ];
  return [...packages.map((name) => `packages/${name}/src`), ...folders].flatMap(testsUnder);
}

function testsUnder(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : testsUnder(path);
      return /\.test\.m?ts$|\.test\.mjs$/.test(path) ? [path] : [];
    })
    .sort();
}

function split(files, isFirst) {
  const first = files.filter(isFirst);
  const chosen = new Set(first);
  return [first, files.filter((file) => !chosen.has(file))];
}

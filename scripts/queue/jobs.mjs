// The jobs of the checks: tests, lint, types, tfjs-core's specs.
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { tool } from '../process.mjs';
import { runCommand } from './child.mjs';
import { byVariables, divideUnits, filesOfProjects } from './projects.mjs';
import { readRecord } from './record.mjs';
import { oneShard, shardsOf } from './shards.mjs';
import { runShard, runVitest } from './vitest.mjs';

/** The memory of a shard at its peak: vitest, the process of the tests, and those that tests start. */
const MEMORY_GIB = {
  pure: 0.6,
  unit: 1.2,
  architecture: 2,
  e2e: 2.5,
  ranks: 2.5,
  hosts: 2,
  threads: 2,
  release: 3,
};
/** vitest's own start, and that of the process of the tests. */
const START_SECONDS = 2;
/** The process of a file in the projects that do not share it starts before its count. */
const FILE_START = { unit: 0.3, e2e: 0.3, hosts: 0.3, pure: 0, ranks: 0, architecture: 0, threads: 0 };
/** The architecture tests share what they have read of the sources. Tests of ranks share ranks. */
const LONGEST_SHARD = { architecture: Infinity, ranks: 240 };
/** Of the output of a failed command, the end is shown again in the summary. */
const LAST_LINES = 60;

/** The projects of `npm test`. */
export const PROJECTS = ['pure', 'unit', 'architecture', 'e2e', 'ranks', 'hosts'];

/** The projects whose files may be run by name, without those of a release. */
const NAMED = [...PROJECTS, 'threads'];

/**
 * The jobs that run test files, each a process of vitest.
 *
 * @param {readonly string[]} files Paths from the root. The jobs, and the files of each, are in this
 * order.
 * @throws Error if a path is not that of a test.
 */
export function jobsForFiles(files) {
  const chosen = byProject(files, NAMED);
  const jobs = NAMED.flatMap((project) => shardJobs(project, chosen[project]));
  const placeOfJob = (job) => files.indexOf(job.files[0]);
  return jobs.sort((a, b) => placeOfJob(a) - placeOfJob(b));
}

/** Files by their project, in their order. */
function byProject(files, names) {
  const projects = filesOfProjects();
  const chosen = Object.fromEntries(names.map((project) => [project, []]));
  for (const file of new Set(files)) {
    const project = names.find((name) => projects[name].includes(file));
    if (!project) throw new Error(`${file} is no test of the projects ${names.join(', ')}.`);
    chosen[project].push(file);
  }
  return chosen;
}

/** The jobs that run all tests of projects. */
export function jobsForProjects(names) {
  const projects = filesOfProjects();
  const ordered = { ...projects, ranks: byVariables(projects.ranks) };
  return names.flatMap((name) => shardJobs(name, ordered[name]));
}

/**
 * @param {{label?: string, args?: readonly string[], env?: object, longest?: number}} [how] label: what
 * the names of the jobs tell. args and env: more of them for vitest. longest: of `shardsOf`.
 */
function shardJobs(project, files, how = {}) {
  if (project !== 'unit') return jobsOfShards(project, files, how);
  const { apart, together } = divideUnits(files);
  const { label = '', args = [] } = how;
  const shared = { ...how, label: `${label}, together`, args: [...args, '--no-isolate'], isOne: true };
  return [apart, ...together].flatMap((each, i) => jobsOfShards(project, each, i === 0 ? how : shared));
}

/** @param {object} how Of `shardJobs`, and isOne: whether all files are in one process. */
function jobsOfShards(project, files, how) {
  const { label = '', args, env, longest = LONGEST_SHARD[project], isOne = false } = how;
  const costOf = readRecord();
  const fileStart = isOne ? 0 : FILE_START[project];
  const withStart = (file) => {
    const { processorSeconds, seconds } = costOf(file, project);
    return { processorSeconds: processorSeconds + fileStart, seconds: seconds + fileStart };
  };
  const shards = isOne ? [oneShard(files, withStart)] : shardsOf(files, withStart, longest);
  return shards.map((shard, index) => {
    const part = shards.length > 1 ? ` ${index + 1}/${shards.length}` : '';
    return {
      name: `${project}${label}${part} ${placeOf(shard.files)}`,
      files: shard.files,
      env,
      processor: weightOf(shard.processorSeconds / shard.seconds),
      memoryGiB: MEMORY_GIB[project],
      seconds: START_SECONDS + shard.seconds,
      run: ({ signal }) => runShard({ project, files: shard.files, args, env, signal }),
    };
  });
}

/**
 * A test with several ranks can keep all cores busy, but not all the time, so two of them run beside
 * each other. A process that only waits still starts.
 */
function weightOf(processor) {
  return Math.max(0.2, Math.min(processor, Math.max(1, availableParallelism() / 2)));
}

/** The file of a shard of one, otherwise the folder of its first. */
function placeOf([first, ...others]) {
  const short = first.replace(/^packages\/|^tests\//, '').replace(/\.test\.m?[jt]s$/, '');
  return others.length === 0 ? short : `${dirname(short)} … (${others.length + 1} files)`;
}

/** The slow tests before a release, one file at a time. */
export function releaseJobs() {
  return filesOfProjects().release.map((file) => ({
    name: `release ${placeOf([file])}`,
    processor: Infinity,
    memoryGiB: MEMORY_GIB.release,
    seconds: 300,
    run: ({ signal }) => runShard({ project: 'release', files: [file], signal }),
  }));
}

/** The projects whose tests must not need what an earlier test leaves. */
const SHUFFLED = ['pure', 'unit', 'ranks'];

/**
 * Tests in an order that the seed determines. Pure tests that compute have one process. Each module
 * of continuous ranks has processes of its own.
 *
 * @param {readonly string[]} [files] Default: all of the projects `pure`, `unit` and `ranks`.
 */
export function shuffledJobs(seed, files) {
  const chosen = files ? byProject(files, SHUFFLED) : filesOfProjects();
  const args = ['--sequence.shuffle.files', '--sequence.shuffle.tests', `--sequence.seed=${seed}`];
  const how = {
    pure: { longest: Infinity },
    unit: {},
    ranks: { env: { ACC_TEST_FRESH_RANKS: '1' } },
  };
  const label = `, shuffled by seed ${seed}`;
  return SHUFFLED.flatMap((project) => shardJobs(project, chosen[project], { label, args, ...how[project] }));
}

/** A run of vitest with another configuration than that of the root, alone. */
export function vitestJob(name, args, { seconds, memoryGiB }) {
  return { name, processor: Infinity, memoryGiB, seconds, run: ({ signal }) => runVitest(args, { signal }) };
}

/**
 * Memory, streams and training on a device of tests that is not the CPU: tests/device without its folder
 * `programs`, which `npm run test:device` runs, too.
 */
export function deviceJob() {
  const programs = 'tests/device/programs/**';
  const args = ['--config', 'tests/device/vitest.config.ts', 'tests/device', '--exclude', programs];
  return vitestJob('device', args, { seconds: 25, memoryGiB: 2 });
}

/** Lint and types: each passes or fails as a whole. */
export function checkJobs() {
  const prettier = ['--check', '--log-level', 'warn', '.'];
  return [
    commandJob('eslint', tool('eslint'), ['.'], { seconds: 30, memoryGiB: 2 }),
    commandJob('oxlint', tool('oxlint'), ['--type-aware'], { seconds: 20, memoryGiB: 3 }),
    commandJob('prettier', tool('prettier'), prettier, { seconds: 40, memoryGiB: 1 }),
    commandJob('types', 'npm', ['run', '--silent', 'typecheck'], { seconds: 15, memoryGiB: 3 }),
  ];
}

/** A command that passes or fails as a whole. */
export function commandJob(name, command, args, { processor = 1, seconds, memoryGiB }) {
  const run = async ({ signal }) => {
    const { code, output } = await runCommand(command, args, { signal });
    if (code === 0) return { passed: 1, failed: 0, output };
    return { passed: 0, failed: 1, output, failures: [whyEnded(name, code, output)] };
  };
  return { name, processor, memoryGiB, seconds, run };
}

/** tfjs-core's own specs on the backend `acc`. */
export function specsJob(device = 'cpu') {
  const args = ['tests/tfjs-core-specs/run.mjs', '--backend', 'acc', '--device', device];
  return countedJob('tfjs-core specs', args, { seconds: 120, memoryGiB: 2 });
}

/**
 * A script whose last line is `N passed, N failed`.
 *
 * @param {{processor?: number, seconds: number, memoryGiB: number, node?: string, env?: object}} how node:
 * the Node.js that runs it, by default this one.
 */
export function countedJob(name, args, how) {
  const { processor = 1, seconds, memoryGiB, node = process.execPath, env } = how;
  const run = async ({ signal }) => {
    const { code, output } = await runCommand(node, args, { signal, env });
    const last = output.trimEnd().split('\n').at(-1);
    const [, passed, failed] = (/(\d+) passed, (\d+) failed/.exec(last) ?? [0, 0, 1]).map(Number);
    const failures = failed || code ? [whyEnded(name, code, output)] : [];
    return { passed, failed: failed || Number(code !== 0), output, failures };
  };
  return { name, processor, memoryGiB, seconds, run };
}

function whyEnded(name, code, output) {
  const last = output.trimEnd().split('\n').slice(-LAST_LINES);
  return [`✗ ${name} ended with code ${code}`, ...last].join('\n');
}

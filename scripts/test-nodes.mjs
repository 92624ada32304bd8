// Runs tests on each supported line of Node.js: `npm run test:nodes`, or `-- --node 24` for one. npm
// installs the programs once on a machine. They are the unit tests that need no tfjs, those of the
// packages that depend on Node.js, and real processes: setup, launch, training, checkpoints. The last
// line is `N passed, N failed`.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { countedJob, filesOfProjects, jobsForFiles, prepare, runAndReport } from './queue/index.mjs';
import { runMain } from './process.mjs';

/** A version of each line. The page on supported systems names these lines (tests/architecture). */
export const VERSIONS = ['20.19.6', '22.23.3', '24.21.0', '26.10.0'];

/** The packages whose unit tests meet Node.js: the addon, processes, streams, threads and files. */
const PACKAGES = /^packages\/(native|cli|collective|data|engine-tfjs-node|checkpoint)\//;

/** Real processes. */
const PROCESSES = [
  'tests/e2e/native-setup.test.ts',
  'tests/e2e/type-stripping.test.ts',
  'tests/e2e/commonjs.test.ts',
  'tests/e2e/launch-function.test.ts',
  'tests/e2e/equivalence.test.ts',
  'tests/e2e/checkpoints/resume.test.ts',
  'tests/e2e/fsdp/steps.test.ts',
];

/** A whole run on one version. */
const COST = { processor: Infinity, memoryGiB: 4, seconds: 600 };

await runMain(async () => {
  const { values } = parseArgs({
    options: { node: { type: 'string', multiple: true }, here: { type: 'boolean' } },
  });
  if (values.here) return testHere();
  const chosen = values.node ? VERSIONS.filter((version) => values.node.some(isLineOf(version))) : VERSIONS;
  const unknown = (values.node ?? []).filter((name) => !VERSIONS.some((version) => isLineOf(version)(name)));
  if (unknown.length > 0)
    throw new Error(`--node ${unknown.join(', ')}: the tests know ${VERSIONS.join(', ')}.`);
  await prepare(['unit', 'e2e', 'ranks']);
  const jobs = [];
  for (const version of chosen) jobs.push(jobOn(version, await install(version)));
  return runAndReport(jobs, { keepOrder: true });
});

function isLineOf(version) {
  return (name) => version === name || version.startsWith(`${name}.`);
}

/** This script again, run by another Node.js, which is also the first on the `PATH`. */
function jobOn(version, node) {
  const env = { PATH: `${dirname(node)}${delimiter}${process.env.PATH}` };
  return countedJob(`Node.js ${version}`, ['scripts/test-nodes.mjs', '--here'], { ...COST, node, env });
}

/** Runs the tests on this Node.js. */
async function testHere() {
  console.log(`Node.js ${process.version}`);
  const { pure, unit } = filesOfProjects();
  await prepare(['unit', 'e2e', 'ranks']);
  return runAndReport(jobsForFiles([...PROCESSES, ...unit.filter((file) => PACKAGES.test(file)), ...pure]));
}

/**
 * The path of a Node.js that npm installed, moved out of `node_modules`, where stacks would take it for
 * a package.
 */
async function install(version) {
  const name = `node-${process.platform}-${process.arch}`;
  const manifest = JSON.stringify({ private: true, dependencies: { [name]: version } });
  const hash = createHash('sha256').update(manifest).digest('hex').slice(0, 8);
  const cache = process.env.ACC_CACHE_DIR ?? join(homedir(), '.cache', 'acc');
  const folder = join(cache, 'test-projects', `node-${version}-${hash}`);
  const node = join(folder, 'node', 'bin', 'node');
  if (existsSync(node)) return node;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), manifest);
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'];
  await promisify(execFile)('npm', ['install', ...flags], { cwd: folder });
  renameSync(join(folder, 'node_modules', name), join(folder, 'node'));
  return node;
}

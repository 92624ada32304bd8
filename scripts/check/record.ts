// Records which functions each test executes: `npm run check:record`. See CONTRIBUTING.md.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root, runMain } from '../process.mjs';
import {
  filesOfProjects,
  jobsForFiles,
  prepare,
  PROJECTS,
  runJobs,
  type Job,
  type JobResult,
} from '../queue/index.mjs';
import { readRecord as readRecordOfCosts } from '../queue/record.mjs';
import { runShard } from '../queue/vitest.mjs';
import { byTestFile, Observer, readProcesses } from './record/observe.js';
import { addObservation, IMPORTING_PATH, readRecord, tidyRecord, writeRecord } from './record/record.js';
import { staleTests } from './record/stale.js';
import { filesBelow, isSource, sourcesIn } from './source/sources.js';
import { testFilesIn } from './source/test-files.js';

const USAGE = `npm run check:record -- [--all | --stale] [text…]

Records tests that have no record, or whose own files changed. Texts: only tests whose paths contain one.
  --stale  also tests of which an executed function changed
  --all    all tests`;

/** Files of one job: a record is kept after each, so an interrupted run goes on where it ended. */
const FILES_A_JOB = 8;
/** Tests that cannot be recorded, each with its reason. */
const WITHOUT_RECORD = [
  // All its processes are killed.
  'tests/e2e/launcher-killed.test.ts',
  // It tests the recorder itself.
  'scripts/check/record/process.test.ts',
  // It runs a bundle outside of the checkout.
  'packages/contract/src/options/bundled-advice.test.ts',
  // It compares all variables of ranks, and the recorder has some.
  'packages/cli/src/launch/launch.test.ts',
];
const FOLDER = join(root, 'node_modules', '.cache', 'acc-record');
const HOOK = join(root, 'scripts', 'check', 'record', 'process.cjs');

const sources = sourcesIn(root);
const testFiles = testFilesIn(root);
const record = readRecord(root);
const observer = new Observer(root, FOLDER, sources);
const projectOf = projectsByFile();

await runMain(async () => {
  const { values, positionals } = parseArgs({
    options: { all: { type: 'boolean' }, stale: { type: 'boolean' }, help: { type: 'boolean' } },
    allowPositionals: true,
  });
  if (values.help) return void console.log(USAGE);
  const files = chooseFiles(values, positionals);
  console.log(`${files.length} tests to record`);
  await prepare([...new Set(files.map((file) => projectOf.get(file)!))]);
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  recordImports();
  const { failed, results } = await runJobs(files.length > 0 ? recordingJobs(files) : [], {
    keepOrder: true,
  });
  for (const { failures = [] } of results) for (const failure of failures) console.log(`\n${failure}`);
  save();
  rmSync(FOLDER, { recursive: true });
  return failed === 0 ? 0 : 1;
});

function projectsByFile(): Map<string, string> {
  const projects = filesOfProjects();
  const recorded = PROJECTS.filter((project) => project !== 'architecture');
  return new Map(recorded.flatMap((project) => projects[project]!.map((file) => [file, project])));
}

function chooseFiles(
  { all = false, stale = false }: { all?: boolean; stale?: boolean },
  texts: readonly string[],
): string[] {
  const known = new Map([...record.tests.values()].map(({ path, hash }) => [path, hash]));
  const changed = stale ? staleTests(record, sources) : new Set<string>();
  return [...projectOf.keys()].filter((file) => {
    if (texts.length > 0 && !texts.some((text) => file.includes(text))) return false;
    if (WITHOUT_RECORD.includes(file)) return false;
    // A page in Chromium writes no record.
    if (testFiles.behind(file).has('tests/chromium.ts')) return false;
    return all || changed.has(file) || known.get(file) !== testFiles.hashOf(file);
  });
}

/**
 * Each file has its own process, as it needs for its own record. The shortest jobs come first, so that a
 * run which is interrupted has recorded most tests.
 */
function recordingJobs(files: readonly string[]): Job[] {
  process.env['ACC_RECORD_FOLDER'] = FOLDER;
  process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} --require=${HOOK}`.trim();
  const costOf = readRecordOfCosts();
  const secondsOf = (file: string): number => costOf(file, projectOf.get(file)!).seconds;
  const ordered = [...files].sort((a, b) => secondsOf(a) - secondsOf(b));
  const chunks = jobsForFiles(ordered).flatMap((job) => {
    const count = Math.ceil(job.files.length / FILES_A_JOB);
    return Array.from({ length: count }, (_, index) => {
      const own = job.files.slice(index * FILES_A_JOB, (index + 1) * FILES_A_JOB);
      const seconds = own.reduce((sum, file) => sum + secondsOf(file), 0);
      return { ...job, name: `${job.name} ${index + 1}/${count}`, files: own, seconds };
    });
  });
  const jobs = chunks.sort((a, b) => a.seconds - b.seconds);
  return jobs.map((job) => ({
    ...job,
    run: async ({ signal }) => {
      const project = projectOf.get(job.files[0]!)!;
      const result = await runShard({ project, files: job.files, args: ['--isolate'], signal });
      const refused = signal.aborted ? [] : keep(passedOf(job.files, result));
      const failures = [...(result.failures ?? []), ...refused];
      return { ...result, failed: result.failed + refused.length, failures };
    },
  }));
}

/** None if it is not known which file a failure is of. */
function passedOf(files: readonly string[], { failures = [] }: JobResult): string[] {
  const fileOf = (failure: string): string | undefined =>
    files.find((file) => failure.startsWith(`✗ ${file} > `) || failure.startsWith(`✗ ${file}\n`));
  const failed = new Set(failures.map(fileOf));
  return failed.has(undefined) ? [] : files.filter((file) => !failed.has(file));
}

/** Takes what the processes of some tests have written into the record. Returns why others are refused. */
function keep(files: readonly string[]): string[] {
  const tests = byTestFile(readProcesses(FOLDER));
  const refused: string[] = [];
  for (const path of files) {
    const records = tests.get(join(root, path)) ?? [];
    const { functions, programs } = observer.observe(records);
    const isOfPackages = /^(packages|tests\/(e2e|hosts))\//.test(path);
    if (records.length === 0) refused.push(`✗ ${path}\nIts process has written no record.`);
    else if (functions.size === 0 && isOfPackages) {
      refused.push(`✗ ${path}\nIts processes executed no function of a package.`);
    } else {
      programs.delete(path);
      addObservation(record, { path, hash: testFiles.hashOf(path), executed: functions, programs });
    }
    observer.forget(records);
  }
  save();
  return refused;
}

/** The functions that run when packages are imported. */
function recordImports(): void {
  const imports = filesBelow(root, 'packages')
    .filter((path) => /^packages\/[^/]+\/package\.json$/.test(path))
    .map((path) => JSON.parse(readFileSync(join(root, path), 'utf8')) as { name: string; exports?: object })
    .filter((manifest) => manifest.exports)
    .map(({ name }) => `import '${name}';`);
  const program = join(FOLDER, 'imports.mjs');
  writeFileSync(program, imports.join('\n'));
  const folder = join(FOLDER, 'imports');
  const { status, stderr } = spawnSync(process.execPath, [`--require=${HOOK}`, program], {
    env: { ...process.env, ACC_RECORD_FOLDER: folder },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`The packages cannot be imported: ${stderr}`);
  const { functions } = new Observer(root, folder, sources).observe(readProcesses(folder));
  const none = { hash: '-', programs: new Set<string>() };
  addObservation(record, { ...none, path: IMPORTING_PATH, executed: functions });
}

function save(): void {
  for (const path of filesBelow(root, 'packages').filter(isSource)) {
    if (!record.executions.has(path)) record.executions.set(path, new Map());
  }
  tidyRecord(record, sources.keysOf, (path) => existsSync(join(root, path)));
  writeRecord(root, record);
}

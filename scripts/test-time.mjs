// Writes bench/results/test-time.md and .json: what each file of the projects e2e, ranks and hosts
// takes, before and after. `npm run test:time -- <folder>` reads the counts of `npm test -- --counts
// <folder>`, from which it also writes the record of the queue (scripts/queue/weights.json) and lowers the
// budget. `--loaded`: the machine did other work besides, so the seconds of the run are too long. With
// `--before` the counts only become the column before. `npm run test:time -- <test files>` runs these files, and
// replaces only their rows.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { countingEnvironment } from '../tests/counts/counting-environment.mjs';
import { readCounts } from '../tests/counts/read-counts.mjs';
import { root, run, runMain, tool } from './process.mjs';
import { refreshWeights } from './queue/refresh-weights.mjs';
import { filesOfProjects } from './queue/projects.mjs';
import { lowerBudget } from './queue/budget.mjs';

const DATA = join(root, 'bench', 'results', 'test-time.json');
const PAGE = join(root, 'bench', 'results', 'test-time.md');
/** The columns. */
const KEYS = ['processorSeconds', 'launches', 'ranks', 'modules', 'backwardPasses'];
const IS_COUNTED = /^tests\/(e2e|hosts)\/.*\.test\.ts$/;

const USAGE = 'Usage: npm run test:time -- <folder of counts> [--loaded | --before], or <test files>';

await runMain(async () => {
  const { values, positionals } = parsed();
  const [first] = positionals;
  const areFiles = positionals.length > 0 && positionals.every((path) => IS_COUNTED.test(path));
  const isPlain = !values.before && !values.loaded;
  if (areFiles && isPlain) return countFiles(positionals);
  if (areFiles || positionals.length !== 1 || !existsSync(first) || (values.before && values.loaded)) {
    console.error(USAGE);
    return 2;
  }
  const counts = countsIn(first);
  if (values.before) return write({ ...known(), before: counts }, counts);
  const missing = rowFiles().filter((file) => !(file in counts));
  if (missing.length > 0) {
    console.error(`Nothing is written: ${missing.length} files are not counted. Count all by npm test.`);
    for (const file of missing) console.error(file);
    return 1;
  }
  refreshWeights(first, { isLoaded: values.loaded ?? false });
  const code = write({ ...known(), after: counts }, counts);
  if (code !== 0) return code;
  const exceeded = lowerBudget(counts);
  for (const line of exceeded) console.error(`above tests/architecture/rules/test-budget.ts: ${line}`);
  return exceeded.length === 0 ? 0 : 1;
});

function parsed() {
  try {
    return parseArgs({
      options: { before: { type: 'boolean' }, loaded: { type: 'boolean' } },
      allowPositionals: true,
    });
  } catch {
    return { values: {}, positionals: [] };
  }
}

/** The files that have a row. */
function rowFiles() {
  const { e2e, ranks, hosts } = filesOfProjects();
  return [...e2e, ...ranks, ...hosts];
}

async function countFiles(tests) {
  const folder = mkdtempSync(join(tmpdir(), 'acc-counts-'));
  try {
    // Some of these files are also in the project release, with more cases.
    const projects = ['e2e', 'ranks', 'hosts'].map((name) => `--project=${name}`);
    const code = await run(tool('vitest'), ['run', ...projects, ...tests], {
      env: countingEnvironment(folder),
    });
    if (code !== 0) return code;
    const counts = countsIn(folder);
    const data = known();
    return write({ ...data, after: sorted({ ...data.after, ...counts }) }, counts);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function known() {
  return existsSync(DATA) ? JSON.parse(readFileSync(DATA, 'utf8')) : { before: {}, after: {} };
}

function countsIn(folder) {
  const counts = [...readCounts(folder)].filter(([test]) => IS_COUNTED.test(test));
  return sorted(
    Object.fromEntries(
      counts.map(([test, { processorSeconds, ...rest }]) => [
        test,
        { ...rest, processorSeconds: Math.round(processorSeconds * 10) / 10 },
      ]),
    ),
  );
}

function sorted(counts) {
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function write(data, counts) {
  const files = Object.keys(counts).length;
  if (files === 0) {
    console.error('There are no counts of files in tests/e2e and tests/hosts. Nothing is written.');
    return 1;
  }
  // A removed file has no row.
  const after = Object.entries(data.after).filter(([test]) => existsSync(join(root, test)));
  const all = { ...data, after: Object.fromEntries(after) };
  writeFileSync(DATA, `${JSON.stringify(all, null, 1)}\n`);
  writeFileSync(PAGE, pageOf(all));
  console.log(`${files} files: ${PAGE}`);
  return 0;
}

function pageOf({ before, after }) {
  const hasBefore = Object.keys(before).length > 0;
  const costOf = (test) => (after[test] ?? before[test]).processorSeconds;
  const tests = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort(
    (a, b) => costOf(b) - costOf(a),
  );
  const rows = tests.map((test) => {
    const cells = KEYS.map(
      (key) => (hasBefore ? `${cellOf(before[test], key)} → ` : '') + cellOf(after[test], key),
    );
    return `| ${test.replace('tests/', '')} | ${cells.join(' | ')} | ${proofOf(test)} |`;
  });
  const totals = KEYS.map((key) => (hasBefore ? `${sum(before, key)} → ` : '') + sum(after, key));
  return `# test-time

The cost of each test file of the projects e2e, ranks and hosts, the largest first. \`npm run test:time\`
writes this page from a counted run: \`npm test -- --counts <folder>\`.

${cpus()[0].model}, ${cpus().length} cores. Processor seconds are user and system time of the file and of all processes
that it started. Launches are jobs of rank processes that a file starts for itself, ranks their processes.
Modules run on continuous ranks, whose start is counted at their first module. Steps are backward passes
on all ranks; replays of compiled steps have none.

| file | processor seconds | launches | ranks | modules | steps | its first test |
| --- | --- | --- | --- | --- | --- | --- |
${rows.join('\n')}
| **all** | ${totals.join(' | ')} | |
`;
}

function sum(counts, key) {
  return Math.round(Object.values(counts).reduce((total, each) => total + (each[key] ?? 0), 0));
}

/** The title of a file's first group or test. */
function proofOf(test) {
  const path = join(root, test);
  if (!existsSync(path)) return `removed: ${basename(dirname(path))}`;
  const [, , title = ''] =
    /\b(?:describe|it)(?:\.each\([^]*?\))?\(\s*(['"`])(.*?)\1,/.exec(readFileSync(path, 'utf8')) ?? [];
  return title.replaceAll('|', '\\|');
}

function cellOf(counts, key) {
  return `${counts?.[key] ?? '–'}`;
}

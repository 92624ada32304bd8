// Writes bench/results/test-time.md and .json: what each file of the projects e2e, ranks and hosts
// takes, before and after. `npm run test:time -- <folder>` reads the counts of `npm test -- --counts
// <folder>`. With `--before` they become the column before.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { readCounts } from '../tests/counts/read-counts.mjs';
import { root, runMain } from './process.mjs';

const DATA = join(root, 'bench', 'results', 'test-time.json');
const PAGE = join(root, 'bench', 'results', 'test-time.md');
/** The columns. */
const KEYS = ['processorSeconds', 'launches', 'ranks', 'modules', 'backwardPasses'];
const IS_COUNTED = /^tests\/(e2e|hosts)\//;

await runMain(() => {
  const [folder, ...flags] = process.argv.slice(2);
  const isBefore = flags.includes('--before');
  if (folder === undefined || flags.some((flag) => flag !== '--before')) {
    console.error('Usage: npm run test:time -- <folder of counts> [--before]');
    return 2;
  }
  const data = existsSync(DATA) ? JSON.parse(readFileSync(DATA, 'utf8')) : { before: {}, after: {} };
  const counts = [...readCounts(folder)].filter(([test]) => IS_COUNTED.test(test));
  data[isBefore ? 'before' : 'after'] = Object.fromEntries(
    counts
      .map(([test, { processorSeconds, ...rest }]) => [
        test,
        { ...rest, processorSeconds: Math.round(processorSeconds * 10) / 10 },
      ])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
  writeFileSync(DATA, `${JSON.stringify(data, null, 1)}\n`);
  writeFileSync(PAGE, pageOf(data));
  console.log(`${counts.length} files: ${PAGE}`);
  return counts.length > 0 ? 0 : 1;
});

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

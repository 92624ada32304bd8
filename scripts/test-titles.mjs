// Lists the titles of all tests, without running them, and compares them with those of another checkout:
//   node scripts/test-titles.mjs --list [--root <checkout>] > titles.json
//   node scripts/test-titles.mjs --against titles.json
// A title is the path of its suites and itself, whatever its file and project. Titles may depend on the
// machine: on its devices, cores, tools and operating system. So make both lists on one machine.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { root as own, runMain } from './process.mjs';
import { compareTitles, countTitles } from './titles/compare-titles.mjs';

const USAGE = 'Usage: node scripts/test-titles.mjs --list [--root <checkout>] | --against <file>';
/** The files of these projects do not end in one process, which lists those of others sooner. */
const ISOLATED = ['hosts', 'release'];
/** Of one project. */
const LONGEST_MS = 600_000;

/** Titles that were replaced since a list was made: `{by}`, another title, or `{reason}`. */
const REPLACED = join(own, 'tests', 'titles', 'replaced.json');

await runMain(async () => {
  const options = { list: { type: 'boolean' }, root: { type: 'string' }, against: { type: 'string' } };
  const { values } = parseArgs({ options });
  if (Boolean(values.list) === Boolean(values.against)) {
    console.error(USAGE);
    return 2;
  }
  const counts = countTitles(await listedTests(resolve(values.root ?? own)));
  if (values.list) {
    console.log(JSON.stringify(counts, undefined, 1));
    return 0;
  }
  const found = compareTitles(readJson(values.against), counts, readJson(REPLACED));
  for (const [kind, titles] of Object.entries(found)) {
    for (const title of titles) console.log(`${kind}: ${title}`);
  }
  console.log(
    Object.entries(found)
      .map(([kind, titles]) => `${titles.length} ${kind}`)
      .join(', '),
  );
  return found.missing.length + found.wrong.length === 0 ? 0 : 1;
});

/**
 * The tests of a checkout, each with its title and its file. vitest lists one project at a time, because
 * projects with other numbers of workers cannot run together.
 */
async function listedTests(root) {
  const files = await listed(root, ['--filesOnly']);
  const projects = [...new Set(files.map(({ projectName }) => projectName))];
  const tests = [];
  for (const project of projects) {
    console.error(`… ${project}`);
    const shares = ISOLATED.includes(project) ? [] : ['--no-isolate'];
    tests.push(...(await listed(root, ['--project', project, ...shares])));
  }
  return tests.map(({ name, file }) => ({
    title: name.replaceAll(root, '<root>'),
    file: relative(root, file),
  }));
}

/** The output of `vitest list` in the checkout. */
async function listed(root, args) {
  const folder = mkdtempSync(join(tmpdir(), 'acc-titles-'));
  const file = join(folder, 'list.json');
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  try {
    const listing = promisify(execFile)(process.execPath, [vitest, 'list', ...args, `--json=${file}`], {
      cwd: root,
      maxBuffer: Infinity,
      timeout: LONGEST_MS,
    });
    // Set-ups of projects must not wait for input.
    listing.child.stdin.end();
    await listing;
    return readJson(file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

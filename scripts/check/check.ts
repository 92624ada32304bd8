// Runs lint, types and the tests that a change can break: `npm run check`. See CONTRIBUTING.md.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root, runMain } from '../process.mjs';
import { filesOfProjects, jobsForFiles, prepare, printSummary, PROJECTS } from '../queue/index.mjs';
import { baseCommit, changedFiles } from './changes.js';
import { checkJobs } from './check-jobs.js';
import { runWithin } from './run-within.js';
import type { Chosen } from './select/choice.js';
import { selectTests } from './select/select.js';
import type { ChangedFile } from './select/select-sources.js';

const USAGE = `npm run check -- [--base <commit>] [--all] [--list]

Runs lint, types, and the tests that the change since the commit can break, the most specific first.
  --base <commit>  default: where this branch left main
  --all            also in kernels, core and native, runs tests longer than 12 minutes
  --list           prints the choice and runs nothing`;

/** A change in these packages can break nearly every test. */
const BROAD = /^packages\/(kernels|core|native)\//;
const LIMIT_SECONDS = 12 * 60;
const SHOWN = 12;

await runMain(async () => {
  const { values } = parseArgs({
    options: {
      base: { type: 'string' },
      all: { type: 'boolean' },
      list: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return void console.log(USAGE);
  const changes = changedFiles(root, baseCommit(root, values.base));
  const startedAt = performance.now();
  const chosen = selectTests(root, changes);
  if (values.list) process.stdout.on('error', endIfUnread);
  print(changes, chosen, (performance.now() - startedAt) / 1000);
  if (values.list || changes.length === 0) return 0;
  return run(changes, chosen, values.all === true);
});

/** A reader such as `head` closes the pipe when it has enough. */
function endIfUnread(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
}

function print(changes: readonly ChangedFile[], chosen: readonly Chosen[], seconds: number): void {
  console.log(
    `${changes.length} changed files, ${chosen.length} test files (chosen in ${seconds.toFixed(1)} s)`,
  );
  for (const { test, reason } of chosen.slice(0, SHOWN)) console.log(`  ${test}: ${reason}`);
  if (chosen.length > SHOWN) console.log(`  and ${chosen.length - SHOWN} more`);
}

async function run(
  changes: readonly ChangedFile[],
  chosen: readonly Chosen[],
  isAll: boolean,
): Promise<number> {
  const projects = filesOfProjects();
  const tests = chosen.map(({ test }) => test);
  const needed = PROJECTS.filter((name) => projects[name]!.some((file) => tests.includes(file)));
  await prepare(needed);
  const lintAndTypes = checkJobs(
    changes.map(({ path }) => path),
    (path) => existsSync(join(root, path)),
  );
  const checks = [...lintAndTypes, ...jobsForFiles(projects['architecture']!)];
  const isBroad = changes.some(({ path }) => BROAD.test(path));
  const limitSeconds = isAll || !isBroad ? Infinity : LIMIT_SECONDS;
  const { leftFiles, ...result } = await runWithin(limitSeconds, checks, tests);
  const code = printSummary(result);
  if (leftFiles.length > 0) {
    console.log(`${leftFiles.length} test files are left to .ci/run:\n  ${leftFiles.join('\n  ')}`);
  }
  return code;
}

// Runs lint, types and the tests that a change can break: `npm run check`. See CONTRIBUTING.md.
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { root, runMain } from '../process.mjs';
import { filesOfProjects, prepare, printSummary, PROJECTS } from '../queue/index.mjs';
import { RECORD } from '../queue/record.mjs';
import { baseCommit, changedFiles } from './changes.js';
import { planOf, type CheckPlan } from './plan.js';
import { expectWithin, runWithin, secondsByRecord } from './run-within.js';
import { Checkout } from './select/checkout.js';
import type { Chosen } from './select/choice.js';
import { selectTests } from './select/select.js';

const USAGE = `npm run check -- [--base <commit>] [--all] [--list]

Runs lint, types, and the tests that the change since the commit can break, the most specific first.
  --base <commit>  default: where this branch left main
  --all            also in kernels, core and native, runs tests longer than 12 minutes
  --list           prints the choice and how long it takes, and runs nothing`;

/** The reasons of so many tests are shown before they run. */
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
  const chosen = selectTests(new Checkout(root), changes);
  const seconds = (performance.now() - startedAt) / 1000;
  if (values.list) process.stdout.on('error', endIfUnread);
  console.log(
    `${changes.length} changed files, ${chosen.length} test files (chosen in ${seconds.toFixed(1)} s)`,
  );
  print(chosen, values.list ? Infinity : SHOWN);
  if (changes.length === 0) return 0;
  const plan = planOf(changes, chosen, values.all === true);
  console.log(expectedText(plan));
  return values.list ? 0 : run(plan);
});

/** A reader such as `head` closes the pipe when it has enough. */
function endIfUnread(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
}

function print(chosen: readonly Chosen[], most: number): void {
  const secondsOf = secondsByRecord();
  for (const { test, reason } of chosen.slice(0, most)) {
    console.log(`  ${test} (${secondsOf(test).toFixed(1)} s): ${reason}`);
  }
  if (chosen.length > most) console.log(`  and ${chosen.length - most} more: npm run check -- --list`);
}

function expectedText(plan: CheckPlan): string {
  const { seconds, leftFiles } = expectWithin(plan.limitSeconds, plan.checks, plan.tests);
  const left = leftFiles.length > 0 ? `; ${leftFiles.length} test files are left to .ci/run` : '';
  const cores = availableParallelism();
  return `With lint, types and rules about ${(seconds / 60).toFixed(1)} minutes on ${cores} cores, by ${RECORD}${left}`;
}

async function run({ checks, tests, limitSeconds }: CheckPlan): Promise<number> {
  const projects = filesOfProjects();
  await prepare(PROJECTS.filter((name) => projects[name]!.some((file) => tests.includes(file))));
  const { leftFiles, ...result } = await runWithin(limitSeconds, checks, tests);
  const code = printSummary(result);
  if (leftFiles.length > 0) {
    console.log(`${leftFiles.length} test files are left to .ci/run:\n  ${leftFiles.join('\n  ')}`);
  }
  return code;
}

// Writes bench/results/check.md: what `npm run check` would run for changes of one line, and how long
// that takes. `npm run check:costs`. Nothing is changed or run.
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { root, runMain } from '../process.mjs';
import { chooseMutants, partsOf } from './mutate/choose.js';
import { applied } from './mutate/mutant.js';
import { planOf } from './plan.js';
import { expectWithin } from './run-within.js';
import { Checkout } from './select/checkout.js';
import { selectTests } from './select/select.js';
import type { ChangedFile } from './select/select-sources.js';
import { filesBelow } from './source/sources.js';

const PAGE = join(root, 'bench', 'results', 'check.md');
const SEED = 7;
const CHANGES = 20;
const NARROW = 'fsdp pipeline cli data'.split(' ');
const TRACKER = /^(acc-)?tracker-/;
const BROAD = 'core kernels native native/cpp'.split(' ');

/** Changes of one kind, and how many minutes their check may take on two quiet cores. */
interface Area {
  readonly name: string;
  readonly changes: readonly ChangedFile[];
  readonly minutes: number;
}

interface Cost {
  readonly files: number;
  readonly minutes: number;
  /** Test files that would not start. */
  readonly left: number;
}

await runMain(async () => {
  const checkout = new Checkout(root);
  const rows = areas().map(({ name, changes, minutes }) => {
    const costs = changes.map((change) => costOf(checkout, change));
    const row = rowOf(name, costs, minutes);
    console.log(row);
    return row;
  });
  writeFileSync(PAGE, pageOf(rows, checkout));
  console.log(PAGE);
});

function areas(): Area[] {
  return [
    ...NARROW.map((own) => ({ name: own, changes: mutantsOf((name) => name === own), minutes: 8 })),
    { name: 'a tracker', changes: mutantsOf((name) => TRACKER.test(name)), minutes: 2 },
    { name: 'a page of the site', changes: pages(), minutes: 2 },
    ...BROAD.map((own) => ({ name: own, changes: mutantsOf((name) => name === own), minutes: 12 })),
  ];
}

/** Seeded defects, as `npm run mutate` makes: each changes one line. */
function mutantsOf(isMeant: (name: string) => boolean): ChangedFile[] {
  const parts = partsOf(root).filter((part) => isMeant(part.name.replace('packages/', '')));
  const different = parts.filter((part, at) => parts.findIndex(({ name }) => name === part.name) === at);
  return chooseMutants(root, different, SEED, CHANGES).map((mutant) => {
    const before = readFileSync(join(root, mutant.path), 'utf8');
    return { path: mutant.path, before, now: applied(before, mutant) };
  });
}

function pages(): ChangedFile[] {
  const all = filesBelow(root, 'site/docs').filter((path) => path.endsWith('.md'));
  const every = Math.max(1, Math.floor(all.length / CHANGES));
  const chosen = all.filter((_, at) => at % every === 0).slice(0, CHANGES);
  return chosen.map((path) => {
    const before = readFileSync(join(root, path), 'utf8');
    return { path, before, now: `${before}\n` };
  });
}

function costOf(checkout: Checkout, change: ChangedFile): Cost {
  const chosen = selectTests(checkout, [change]);
  const { checks, tests, limitSeconds } = planOf([change], chosen, false);
  const { seconds, leftFiles } = expectWithin(limitSeconds, checks, tests);
  return { files: tests.length, minutes: seconds / 60, left: leftFiles.length };
}

function rowOf(name: string, costs: readonly Cost[], most: number): string {
  const spread = (values: readonly number[], digits = 0): string =>
    [0.5, 0.9, 1].map((part) => quantile(values, part).toFixed(digits)).join(' · ');
  const within = costs.filter(({ minutes }) => minutes <= most).length;
  const cells = [
    spread(costs.map(({ files }) => files)),
    spread(costs.map(({ left }) => left)),
    spread(
      costs.map(({ minutes }) => minutes),
      1,
    ),
    most,
    `${within} of ${costs.length}`,
  ];
  return `| ${name} | ${cells.join(' | ')} |`;
}

/** The least value that `part` of all are not above. */
function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? 0;
}

function pageOf(rows: readonly string[], { tests, unrecorded, changed }: Checkout): string {
  return `# check

What \`npm run check\` would run for a change of one line. \`npm run check:costs\` writes this page from
the choice alone; nothing is run. The changes are seeded defects as \`npm run mutate\` makes them (seed
${SEED}, up to ${CHANGES} an area), and for pages a line at the end. Each cell has the median, the 90th percentile
and the most. Minutes contain lint, types and the rules of the architecture. They are what the queue
takes if each test costs what \`scripts/queue/weights.json\` says; on a slower or loaded machine it takes
longer. In kernels, core and native no further test starts after 12 minutes, and the tests that are
left are those of \`.ci/run\`.

${availableParallelism()} cores. Of ${tests.length} test files, ${unrecorded.length} have no record of what they
execute, and ${changed.size} have changed since their record.

| change in | test files | left | minutes | at most | within |
| --- | --- | --- | --- | --- | --- |
${rows.join('\n')}
`;
}

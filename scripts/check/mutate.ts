// Makes seeded defects and runs the tests that `npm run check` would choose: `npm run mutate`. See
// CONTRIBUTING.md.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { root, runMain } from '../process.mjs';
import { UsageError } from './changes.js';
import { chooseMutants, partsOf } from './mutate/choose.js';
import { copyTree } from './mutate/copy.js';
import { diffOf, type Mutant } from './mutate/mutant.js';
import { MutantRunner, type Outcome } from './mutate/run-mutants.js';

const USAGE = `npm run mutate -- [--seed 7] [--count 20] [--from 1] [--only fsdp,native/cpp] [--list] [--whole]

Makes defects in a copy of the tree and runs the tests that npm run check chooses for each.
  --from <number>    the first of them that runs
  --only <packages>  mutants of these packages; native/cpp is C++
  --list             prints the mutants and runs nothing
  --whole            then runs all tests with all surviving mutants together; without --seed, with
                     those of the last run`;

const SURVIVORS = join(root, 'node_modules', '.cache', 'acc-check', 'survivors.json');

await runMain(async () => {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      count: { type: 'string', default: '20' },
      from: { type: 'string', default: '1' },
      only: { type: 'string' },
      list: { type: 'boolean' },
      whole: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return void console.log(USAGE);
  const isContinued = values.whole === true && values.seed === undefined;
  const mutants = isContinued ? readSurvivors() : drawMutants(values);
  if (values.list) return void mutants.forEach(show);
  const copy = copyTree(root);
  try {
    const runner = new MutantRunner(copy.root);
    const survivors = isContinued ? mutants : await runEach(runner, mutants);
    if (survivors.length === 0) return 0;
    if (values.whole !== true) {
      console.log(`\nAll tests with the survivors: npm run mutate -- --whole`);
      return 1;
    }
    return await runWhole(runner, survivors);
  } finally {
    copy.remove();
  }
});

interface Drawn {
  readonly seed?: string;
  readonly count: string;
  readonly from: string;
  readonly only?: string;
}

/** A mutant with its number in the draw. */
interface NumberedMutant {
  readonly number: number;
  readonly mutant: Mutant;
}

function drawMutants({ seed = '7', count, from, only }: Drawn): NumberedMutant[] {
  for (const [name, text] of Object.entries({ seed, count, from })) {
    if (!/^\d+$/.test(text)) {
      throw new UsageError('ACC_MUTATE_OPTION', `--${name} is '${text}'.`, 'Give a whole number from 0.');
    }
  }
  const names = only?.split(',').map((name) => `packages/${name}`);
  const parts = partsOf(root);
  const unknown = names?.filter((name) => !parts.some((part) => part.name === name)) ?? [];
  if (unknown.length > 0) {
    const known = [...new Set(parts.map(({ name }) => name.replace('packages/', '')))].join(', ');
    throw new UsageError('ACC_MUTATE_OPTION', `There is no ${unknown.join(', ')}.`, `Known: ${known}`);
  }
  const chosen = parts.filter((part) => !names || names.includes(part.name));
  return chooseMutants(root, chosen, Number(seed), Number(count))
    .map((mutant, at) => ({ number: at + 1, mutant }))
    .filter(({ number }) => number >= Number(from));
}

function show({ number, mutant }: NumberedMutant): void {
  console.log(`\n${number}. ${diffOf(readFileSync(join(root, mutant.path), 'utf8'), mutant)}`);
}

/** Returns the mutants that no chosen test noticed for sure, and keeps them for `--whole`. */
async function runEach(runner: MutantRunner, mutants: readonly NumberedMutant[]): Promise<NumberedMutant[]> {
  const survivors: NumberedMutant[] = [];
  for (const each of mutants) {
    show(each);
    const outcome = await runner.run(each.mutant);
    console.log(textOf(outcome));
    if (['survived', 'unsure'].includes(outcome.kind)) survivors.push(each);
  }
  console.log(`\n${mutants.length} mutants, ${survivors.length} survived`);
  mkdirSync(dirname(SURVIVORS), { recursive: true });
  writeFileSync(SURVIVORS, JSON.stringify(survivors));
  return survivors;
}

function textOf({ kind, chosen, by, seconds }: Outcome): string {
  const how = {
    killed: `killed by ${by}`,
    survived: 'SURVIVED',
    unbuilt: `not built: ${by}`,
    unsure: `UNSURE: wavers, or also fails without the mutant: ${by}`,
  }[kind];
  return `${how} (${chosen.length} test files chosen, ${seconds.toFixed(0)} s)`;
}

function readSurvivors(): NumberedMutant[] {
  try {
    return JSON.parse(readFileSync(SURVIVORS, 'utf8')) as NumberedMutant[];
  } catch {
    throw new UsageError('ACC_MUTATE_OPTION', 'No survivors are kept.', 'Run: npm run mutate -- --seed 7');
  }
}

/** If the whole suite is red, its failed test files run with each survivor alone. */
async function runWhole(runner: MutantRunner, survivors: readonly NumberedMutant[]): Promise<number> {
  console.log(`\nAll tests with ${survivors.length} mutants together`);
  const failed = await runner.runAll(survivors.map(({ mutant }) => mutant));
  if (failed.length === 0) {
    console.log('No test noticed the survivors. Each needs a test, or a reason.');
    return 1;
  }
  for (const each of survivors) {
    const { kind, by } = await runner.run(each.mutant, failed);
    show(each);
    console.log(kind === 'killed' ? `killed by ${by}, which the choice missed` : 'no test noticed it');
  }
  return 1;
}

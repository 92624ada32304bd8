import { mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose, resultsOfRanks } from '@acc/testkit';
import { APART, moduleOf, siteExample, siteExamples, type Example } from './examples.js';
import { root } from './site.js';

const examples = siteExamples();
/** The examples that run on two ranks in one job. */
const inJob = examples.filter(({ name }) => !APART.includes(name));

const folder = mkdtempSync(join(tmpdir(), 'acc-site-examples-'));
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));

const fileOf = ({ name }: Example): string => `${name.replaceAll(/[/#]/g, '-')}.mts`;

function writeProgram(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/**
 * Runs the modules one after the other. A process leaves its job only once: at the end of all.
 * Sharded weights are read after the program, so `endTraining` does not free them.
 */
const job = (files: readonly string[]) => `
import { Accelerator } from '@acc/core';
import { reportResult } from '@acc/testkit';
import * as tf from '@tensorflow/tfjs';
const { create } = Accelerator;
let running;
Accelerator.create = async (options) => (running = await create.call(Accelerator, options));
Accelerator.prototype.endTraining = function () { return this.waitForCheckpoint(); };
const told = {};
const { log } = console;
for (const file of ${JSON.stringify(files)}) {
  const lines = [];
  console.log = (...values) => lines.push(values.join(' '));
  try {
    const { sumOfWeights } = await import('./' + file);
    told[file] = { sumOfWeights, lines };
  } catch (error) {
    console.error(file, error);
    process.exit(1);
  }
  running?.freeMemory();
  running = undefined;
  // A prepared optimizer would share out the variables of earlier programs, too.
  tf.disposeVariables();
}
console.log = log;
reportResult(told);
`;

/** Programs that do one thing, and the line by which it is seen. */
const SHOWN: readonly (readonly [name: string, line: RegExp])[] = [
  ['learn/recipes#1', /epoch 3: norm of the last gradient \d/],
  ['learn/recipes#2', /^enough after epoch [1-9]$/],
  // 256 rows, 32 in a step of two ranks, three epochs.
  ['learn/recipes#3', /^24 steps$/],
  ['learn/recipes#4', /^confusion matrix: Tensor\s+\[\[\d+.*\naccuracy \d+ of 101, recall 0\.\d\d$/s],
  ['learn/recipes#5', /^46 parameters learn from 354$/],
  ['learn/recipes#6', /^8 steps of each$/],
  ['learn/recipes#8', /^losses 0\.\d+, 0\.\d+, 0\.\d+$/],
  ['learn/recipes#9', /^2 of 4 weights trained$/],
  ['learn/recipes#10', /^mean loss of 4 folds \d/],
  ['learn/exercise-fsdp#1', /a step: \d+ ms, 0\.2 MiB sent/],
  ['learn/exercise-deepspeed#1', /^4 updates$/],
  ['learn/exercise-deepspeed#2', /^8 steps on 2 stages$/],
  ['learn/exercise-cnn#1', /^2 processes: \d+ ms for 256 pictures$/],
  ['write/plugin#1', /^whole gradients after step 8$/],
  ['coming-from/tfjs-node#1', /^computed by acc$/],
];

interface Told {
  readonly sumOfWeights?: number;
  readonly lines: readonly string[];
}

/** The program of write/strategy, with the strategy `ddp` in place of its own. */
const BY_DDP = 'by-ddp.mts';

let ranks: Readonly<Record<string, Told>>[];

beforeAll(async () => {
  for (const one of inJob) writeProgram(fileOf(one), moduleOf(one));
  const strategy = moduleOf(siteExample('write/strategy#1'));
  writeProgram(BY_DDP, strategy.replace('strategy: oneByOne()', "strategy: 'ddp'"));
  const script = writeProgram('job.mts', job([...inJob.map(fileOf), BY_DDP]));
  ranks = await resultsOfRanks({ script, ranks: 2, cwd: folder, timeoutMs: 300_000 });
}, 320_000);

describe('examples of the site', () => {
  it.each(inJob)('$name runs as written, and ranks agree', (one) => {
    const [first, second] = ranks.map((told) => told[fileOf(one)]!);
    expect(second!.sumOfWeights).toBe(first!.sumOfWeights);
    if (/^const \[?model\b/m.test(one.code)) expect(first!.sumOfWeights).toBeGreaterThan(0);
    // Only the main process prints, except in programs without the Accelerator.
    if (one.code.includes('@acc/core')) expect(second!.lines).toEqual([]);
  });

  it('start#1 prints what the page shows, and learns', () => {
    const { lines } = ranks[0]![fileOf(siteExample('start#1'))]!;
    const losses = lines.map((line) => Number(/^epoch \d: loss (\d\.\d{3})$/.exec(line)?.[1]));
    const page = readFileSync(join(root, 'site', 'docs', 'start.md'), 'utf8');
    const shown = Array.from(page.matchAll(/^\[0\] epoch \d: loss (\S+)$/gm), ([, loss]) => Number(loss));
    expect(losses).toHaveLength(5);
    // Other processors round sums differently.
    expectClose(losses, shown, { rtol: 0.05 });
    expect(losses.at(-1)).toBeLessThan(losses[0]! / 2);
  });

  it('the tutorial shows its losses: the same before `prepare`, and on two ranks after it', () => {
    const losses = (text: string) =>
      Array.from(text.matchAll(/epoch \d: loss (\S+)/g), ([, loss]) => Number(loss));
    const [plain, prepared] = [1, 2].map(
      (step) => ranks[0]![fileOf(siteExample(`learn/tutorial#${step}`))]!.lines,
    );
    const page = readFileSync(join(root, 'site', 'docs', 'learn', 'tutorial.md'), 'utf8');
    const shown = losses(page);
    expect(shown).toHaveLength(6);
    for (const { lines } of [{ lines: plain! }, { lines: prepared! }]) {
      expectClose(losses(lines.join('\n')), shown.slice(0, 3), { rtol: 0.02, atol: 1e-4 });
    }
    expect(shown.slice(3)).toEqual(shown.slice(0, 3));
  });

  it.each(SHOWN)('%s prints %s', (name, line) => {
    expect(ranks[0]![fileOf(siteExample(name))]!.lines.join('\n')).toMatch(line);
  });

  it('write/strategy#1 ends with the weights of ddp', () => {
    const [ours, theirs] = [fileOf(siteExample('write/strategy#1')), BY_DDP];
    expectClose([ranks[0]![ours]!.sumOfWeights!], [ranks[0]![theirs]!.sumOfWeights!], { rtol: 1e-5 });
  });
});
